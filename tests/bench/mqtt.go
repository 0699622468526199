package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

const (
	messages       = 60_000 // messages of QoS 1 in each round
	publishers     = 3
	publishWindow  = 500 // messages of a publisher that wait for an acknowledgement
	messagesWithin = 5 * time.Minute
)

// mqttPart measures messages of MQTT. In each round, a Mosquitto forwards the same messages first to a
// subscriber that does nothing, and then to Varve. The rate of the subscriber that does nothing is the
// limit of the broker.
type mqttPart struct{ *bench }

func (b mqttPart) runPart() error {
	program, err := exec.LookPath("mosquitto")
	if err != nil {
		fmt.Println("MQTT is not measured: mosquitto is not in PATH (Debian has a package mosquitto, in /usr/sbin).")
		return nil //nolint:nilerr // the other parts do not need it
	}
	var limits, rates, ratios []float64
	for range b.rounds {
		limit, err := b.round(program, b.countOnly)
		if err != nil {
			return fmt.Errorf("the subscriber that does nothing: %w", err)
		}
		rate, err := b.round(program, b.intoVarve)
		if err != nil {
			return fmt.Errorf("varve: %w", err)
		}
		limits, rates, ratios = append(limits, limit), append(rates, rate), append(ratios, rate/limit)
	}
	b.out.median("MQTT, QoS 1 from one Mosquitto, stored by Varve", rates, "messages/s")
	b.out.median("… received by a subscriber that does nothing: the broker's limit", limits, "messages/s")
	b.out.median("… ratio", ratios, "")
	return nil
}

// round starts a broker, and passes its address to measure, which returns messages per second.
func (b mqttPart) round(program string, measure func(addr string) (float64, error)) (rate float64, err error) {
	dir := b.folder("mosquitto")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return 0, err
	}
	cmd, addr, err := startBroker(program, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }()
	return measure(addr)
}

// startBroker starts Mosquitto with the settings of docs/mqtt.md, and waits until it accepts connections.
func startBroker(program, dir string) (cmd *exec.Cmd, addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	addr = l.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, "", err
	}
	config := filepath.Join(dir, "mosquitto.conf")
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\nuser root\npersistence_location %s/\n"+
		"max_inflight_messages 1000\nmax_queued_messages 0\npersistence true\nlog_type error\n", port, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	cmd = exec.Command(program, "-c", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for range 200 {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return cmd, addr, conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, "", errors.Join(errors.New("mosquitto does not accept connections after 4 s"), cmd.Process.Kill(), cmd.Wait())
}

// countOnly measures a subscriber that acknowledges messages and does nothing else.
func (b mqttPart) countOnly(addr string) (rate float64, err error) {
	c, err := connect(addr, "count")
	if err != nil {
		return 0, err
	}
	defer c.Disconnect(250)
	var got atomic.Int64
	token := c.Subscribe("varve/+/+", 1, func(paho.Client, paho.Message) { got.Add(1) })
	if token.Wait(); token.Error() != nil {
		return 0, token.Error()
	}
	return measureFlood(addr, func() (int, error) { return int(got.Load()), nil })
}

// intoVarve measures Varve, whose client subscribes at the broker.
func (b mqttPart) intoVarve(addr string) (rate float64, err error) {
	dir := b.folder("mqtt")
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	s, err := start(b.binary, dir, "--set", "mqtt.url=mqtt://"+addr)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	c, err := dial(s.addr)
	if err != nil {
		return 0, err
	}
	defer c.close()
	if err := waitFor(1, func() (int, error) { return c.metric("varve_mqtt_connected") }); err != nil {
		return 0, err
	}
	return measureFlood(addr, func() (int, error) { return c.metric(`varve_mqtt_messages_total{outcome="stored"}`) })
}

// metric returns the value of a metric that is a whole number. The name includes its labels.
func (c *conn) metric(name string) (value int, err error) {
	text, err := c.get("/metrics")
	if err != nil {
		return 0, err
	}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if rest, ok := bytes.CutPrefix(sc.Bytes(), []byte(name+" ")); ok {
			var f float64
			_, err := fmt.Sscan(string(rest), &f)
			return int(f), err
		}
	}
	return 0, fmt.Errorf("the server has no metric %s", name)
}

// measureFlood publishes messages, and returns how many per second arrived, from the first publication
// to the last arrival.
func measureFlood(addr string, arrived func() (int, error)) (rate float64, err error) {
	begin := time.Now()
	errs := make([]error, publishers)
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() { errs[p] = publish(addr, p) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if err := waitFor(messages, arrived); err != nil {
		return 0, err
	}
	return messages / time.Since(begin).Seconds(), nil
}

func waitFor(want int, number func() (int, error)) error {
	end := time.Now().Add(messagesWithin)
	for {
		n, err := number()
		if err != nil || n >= want {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d after %s, want %d", n, messagesWithin, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func publish(addr string, device int) error {
	c, err := connect(addr, fmt.Sprint("publisher-", device))
	if err != nil {
		return err
	}
	defer c.Disconnect(250)
	at := time.Now().Add(-24 * time.Hour).UnixMilli()
	var tokens []paho.Token
	for i := range messages / publishers {
		tokens = append(tokens, c.Publish(fmt.Sprintf("varve/bench/d%d", device), 1, false, fmt.Sprintf(`{"time":%d,"fields":{"temperature":%d.5}}`, at+int64(i), i%40)))
		if len(tokens) < publishWindow {
			continue
		}
		if tokens[0].Wait(); tokens[0].Error() != nil {
			return tokens[0].Error()
		}
		tokens = tokens[1:]
	}
	for _, token := range tokens {
		if token.Wait(); token.Error() != nil {
			return token.Error()
		}
	}
	return nil
}

func connect(addr, id string) (paho.Client, error) {
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + addr).SetClientID(id).SetProtocolVersion(4).SetAutoReconnect(false))
	token := c.Connect()
	token.Wait()
	return c, token.Error()
}
