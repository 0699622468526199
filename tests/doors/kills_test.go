package doors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"github.com/varvedb/varve/tests/varvetest"
)

// number returns a number from the environment, or the default.
func number(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// endOfKills returns the time after which no further kill begins. The variable VARVE_WITHIN sets it, as
// in 1h. Without the variable, the time is a year ahead.
func endOfKills(t *testing.T) time.Time {
	t.Helper()
	text := os.Getenv("VARVE_WITHIN")
	if text == "" {
		return time.Now().AddDate(1, 0, 0)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("VARVE_WITHIN: %v", err)
	}
	return time.Now().Add(d)
}

// fleet publishes readings with QoS 1 until it is stopped. Each device resends a message until the
// broker acknowledges it.
type fleet struct {
	acknowledged [devices]int // number of acknowledged messages of each device; valid after stop
	total        atomic.Int64 // number of acknowledged messages of all devices
	devices      sync.WaitGroup
	cancel       context.CancelFunc
}

const devices = 4

func startFleet(t *testing.T, address string) *fleet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &fleet{cancel: cancel}
	begin := time.Now().Add(-24 * time.Hour).UnixMilli()
	for d := range devices {
		f.devices.Go(func() {
			for ctx.Err() == nil {
				f.publish(ctx, address, d, begin)
			}
		})
	}
	return f
}

// publish sends the messages of a device over one connection, until the connection is lost or ctx ends.
func (f *fleet) publish(ctx context.Context, address string, d int, begin int64) {
	lost := make(chan struct{})
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(fmt.Sprint("device-", d)).SetAutoReconnect(false).
		SetConnectTimeout(time.Second).SetConnectionLostHandler(func(paho.Client, error) { close(lost) }))
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		wait(20 * time.Millisecond)
		return
	}
	defer c.Disconnect(0)
	for ctx.Err() == nil {
		n := f.acknowledged[d]
		token := c.Publish(fmt.Sprint("varve/kills/d", d), 1, false, fmt.Sprintf(`{"time":%d,"fields":{"n":%d}}`, begin+int64(n), n))
		select {
		case <-token.Done():
			if token.Error() != nil {
				return
			}
			f.acknowledged[d]++
			f.total.Add(1)
			wait(time.Millisecond) // limits the rate, so that the backlog does not grow without end on a busy machine
		case <-lost:
			return
		}
	}
}

func (f *fleet) stop() {
	f.cancel()
	f.devices.Wait()
}

// TestKills_LoseNoMessage kills Varve and restarts a broker while devices publish. Each message
// that a device knows to be acknowledged must be stored exactly once.
//
// SIGTERM ends Mosquitto, and SIGKILL ends NATS: startMosquitto and startNATS have the reasons.
// Each subtest does about a third of VARVE_KILLS kills. Each subtest with a broker also does about half of
// VARVE_BROKER_KILLS restarts. After the duration VARVE_WITHIN, no further kill or restart begins.
func TestKills_LoseNoMessage(t *testing.T) {
	kills, restarts := number(t, "VARVE_KILLS", 24), number(t, "VARVE_BROKER_KILLS", 6)
	for _, protocol := range []string{"5", "3.1.1"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			b := startMosquitto(t, goodMosquitto)
			testKills(t, b, b.address, kills/3, restarts/2, "--set", "mqtt.url="+b.url(), "--set", "mqtt.protocol="+protocol)
		})
	}
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		b := startNATS(t)
		testKills(t, b, b.address, kills/3, restarts/2, "--set", "mqtt.url="+b.url())
	})
	t.Run("listener", func(t *testing.T) {
		t.Parallel()
		address := freeAddress(t)
		testKills(t, nil, address, kills/3, 0, "--set", "mqtt.listen="+address)
	})
}

// testKills kills Varve and restarts the broker while devices publish to an address.
func testKills(t *testing.T, b *broker, address string, kills, restarts int, args ...string) {
	t.Helper()
	dir := t.TempDir()
	start := func() *server {
		v, err := varvetest.Start(context.WithoutCancel(t.Context()), binary, dir, args...)
		if err != nil {
			t.Fatal(err)
		}
		return &server{Server: v}
	}
	s := start()
	connected := func() bool { body := s.status(t); return body.Client == nil || body.Client.Connected }
	if !varvetest.Eventually(connected) {
		t.Fatal("not connected")
	}
	f := startFleet(t, address)
	killed, restarted := 0, 0
	for i, end := 0, endOfKills(t); i < kills+restarts && time.Now().Before(end); i++ {
		wait(time.Duration(50+rand.IntN(300)) * time.Millisecond)
		if restarts > 0 && i%(kills/restarts+1) == 1 {
			b.stop(t, b.end)
			b.start(t)
			restarted++
			continue
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		s = start()
		killed++
	}
	f.stop()
	if least := int64(10 * killed); f.total.Load() < least {
		t.Errorf("%d messages were published, want at least %d", f.total.Load(), least)
	}
	stored := func(d int) int { return s.storedOf(t, "kills", fmt.Sprint("d", d)) }
	for d := range devices {
		if f.acknowledged[d] == 0 {
			t.Errorf("device %d published no message", d)
		}
		if want := f.acknowledged[d]; !varvetest.Eventually(func() bool { return stored(d) >= want }) {
			t.Errorf("%d readings of device %d are stored, want %d", stored(d), d, want)
		}
		// A message may be stored although its acknowledgement was lost.
		if got, want := stored(d), f.acknowledged[d]; got > want+1 {
			t.Errorf("%d readings of device %d are stored, want %d or %d", got, d, want, want+1)
		}
	}
	t.Logf("%d messages, %d kills of Varve, %d restarts of the broker", f.total.Load(), killed, restarted)
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// wait returns after a duration, during which devices publish.
func wait(d time.Duration) {
	<-time.After(d)
}

func (s *server) storedOf(t *testing.T, stream, device string) int {
	t.Helper()
	_, text := s.call(t, "GET", "/v1/streams/"+stream+"/devices/"+device+"/readings?format=ndjson", "")
	return strings.Count(string(text), "\n")
}
