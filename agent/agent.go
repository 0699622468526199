// Package agent accepts readings on a device or a gateway, and sends them to a server.
//
//	devices ──▶ HTTP, line protocol, MQTT ──▶ intake ──▶ outbox (disk) ──▶ uplink ──▶ server
//
// [Start] returns a running [Agent]. [Health] is its answer about the outbox and the server. The parts of
// an agent are packages of their own:
//
//   - settings reads the configuration, and command is the command line.
//   - intake checks readings and appends them to the outbox.
//   - outbox stores readings until the server has confirmed them.
//   - uplink sends them when the server is reachable.
//
// These rules always hold:
//
//   - A reading is acknowledged to its device only after it is durable on the disk of the agent.
//   - A reading stays on the disk at least until the server has a verdict on it. The exception is a
//     full outbox: it drops its oldest readings, unless the settings forbid this. Drops are counted
//     and logged.
//   - The arrival of a reading is the time at which the server receives it.
//
// Start fails if a file or the outbox cannot be opened, or a port cannot be used. Later failures
// are logged, and sending is retried. After a crash, the next start continues with the readings on
// the disk. Some of them may be sent twice, and are duplicates then. All methods are safe for
// concurrent use.
package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/agent/intake"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/settings"
	"github.com/varvedb/varve/agent/uplink"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/acceptlog"
	"github.com/varvedb/varve/mqtt"
)

// Options configure an agent. All fields are required.
type Options struct {
	Settings *settings.Settings
	Log      zerolog.Logger
	Version  string
	Now      func() time.Time
}

// Agent is a running agent.
type Agent struct {
	opts     Options
	box      *outbox.Outbox
	keys     *keyRing
	metrics  *metrics
	server   *http.Server
	http     net.Listener // nil if the setting http.listen is empty
	mqtt     *mqtt.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup
	failures logLimit
	refusal  sync.Once // logs that the server refuses comparisons
	ending   sync.Once
	ended    error // the result of Close
}

// Start starts an agent. It returns after its ports are open.
func Start(ctx context.Context, o Options) (a *Agent, err error) {
	s := o.Settings
	debug.SetMemoryLimit(int64(s.Memory))
	debug.SetGCPercent(50)
	a = &Agent{opts: o}
	if a.keys, err = readKeys(s.HTTP.KeysFile); err != nil {
		return nil, err
	}
	server, err := newClient(s)
	if err != nil {
		return nil, err
	}
	secured, err := readCertificate(&s.HTTP)
	if err != nil {
		return nil, err
	}
	a.metrics = newMetrics(func() outbox.Stats { return a.box.Stats() }, int64(s.Outbox.MaxBytes))
	box := s.OutboxOptions()
	box.Events = a.outboxEvents()
	if a.box, err = outbox.Open(box); err != nil {
		return nil, err
	}
	if err := a.listen(ctx, secured); err != nil {
		return nil, errors.Join(err, a.box.Close())
	}
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	sender := uplink.New(uplink.Options{
		Outbox: a.box, Client: server, Readings: s.Upload.Readings, ReadingsPerSecond: s.Upload.ReadingsPerSecond,
		BytesPerSecond: int(s.Upload.BytesPerSecond), Every: s.Upload.Every, MaxWait: s.Upload.MaxWait, Events: a.uplinkEvents(),
	})
	a.running.Go(func() { sender.Run(sending) })
	return a, nil
}

func (a *Agent) listen(ctx context.Context, secured *tls.Config) (err error) {
	s := a.opts.Settings
	to := intake.New(a.box, a.opts.Now)
	newIngester := func(door string) *ingest.Ingester {
		return ingest.New(ingest.Options{
			Destination: to, Budget: wire.NewBudget(0), BatchReadings: intake.BatchReadings, BatchBytes: intake.BatchBytes,
			Door: door, Now: a.opts.Now, Judged: func(b *wire.Batch) { a.judged(door, b) },
		})
	}
	var lc net.ListenConfig
	if s.HTTP.Listen != "" {
		if a.http, err = lc.Listen(ctx, "tcp", s.HTTP.Listen); err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
	}
	if s.MQTT.Listen != "" {
		if err := a.listenMQTT(ctx, newIngester("mqtt"), secured); err != nil {
			if a.http != nil {
				err = errors.Join(err, a.http.Close())
			}
			return err
		}
	}
	if a.http == nil {
		return nil
	}
	a.server = &http.Server{
		Handler: a.handler(newIngester), TLSConfig: secured, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: requestLimit,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
		ErrorLog: quietLog(),
	}
	listener := limitListener(acceptlog.New(a.http, a.opts.Log, a.opts.Now), maxConnections)
	if secured != nil {
		listener = tls.NewListener(listener, secured)
	}
	a.running.Go(func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.opts.Log.Error().Err(err).Msg("local API ended")
		}
	})
	return nil
}

func (a *Agent) listenMQTT(ctx context.Context, ingester *ingest.Ingester, secured *tls.Config) error {
	s := a.opts.Settings
	table, err := s.TopicTable()
	if err != nil {
		return err // impossible, because the settings have been checked
	}
	var lc net.ListenConfig
	socket, err := lc.Listen(ctx, "tcp", s.MQTT.Listen)
	if err != nil {
		return fmt.Errorf("mqtt.listen: %w", err)
	}
	m := mqtt.NewMetrics(a.metrics.registry, mqtt.Parts{Listener: true})
	receiver := mqtt.NewReceiver(mqtt.ReceiverOptions{
		Ingester: ingester, Table: table, Lines: s.LineMapping(), Now: a.opts.Now, MaxMessage: int(s.MQTT.MaxMessage), Metrics: m, Rejects: unreadable{a},
	})
	a.mqtt, err = mqtt.StartListener(mqtt.ListenerOptions{
		Receiver: receiver, Metrics: m, Listener: limitListener(acceptlog.New(socket, a.opts.Log, a.opts.Now), maxConnections), TLS: secured, Keys: a.keys,
		MaxMessage: int(s.MQTT.MaxMessage), Now: a.opts.Now,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("listen for MQTT: %w", err), socket.Close())
	}
	return nil
}

// URL returns the address of the local API, or "" if the setting http.listen is empty.
func (a *Agent) URL() string {
	if a.http == nil {
		return ""
	}
	scheme := "http://"
	if a.opts.Settings.HTTP.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + a.http.Addr().String()
}

// MQTTAddr returns the address of the MQTT listener, or nil if the setting mqtt.listen is empty.
func (a *Agent) MQTTAddr() net.Addr {
	if a.mqtt == nil {
		return nil
	}
	return a.mqtt.Addr()
}

// drainLimit limits the wait for HTTP requests that are still running when the agent stops.
const drainLimit = 10 * time.Second

// Close stops HTTP and MQTT, then the uplink, and then closes the outbox. Unconfirmed readings remain
// on the disk.
func (a *Agent) Close() error {
	a.ending.Do(func() { a.ended = a.end() })
	return a.ended
}

func (a *Agent) end() error {
	var err error
	if a.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		if err = a.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			err = a.server.Close()
		}
	}
	if a.mqtt != nil {
		err = errors.Join(err, a.mqtt.Close())
	}
	a.stop()
	a.running.Wait()
	return errors.Join(err, a.box.Close())
}

// newClient returns a client of the server. Each of its calls makes one attempt, without retries.
func newClient(all *settings.Settings) (*client.Client, error) {
	s := &all.Server
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 5 * time.Minute, IdleConnTimeout: 5 * time.Minute,
		MaxIdleConnsPerHost: 1, DisableCompression: true, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	}
	if s.CAFile != "" {
		text, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("server.ca_file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("server.ca_file: %s has no certificate in PEM: name another file", s.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	limited := limitAnswers(transport, answerBytes+answerBytesPerReading*int64(all.Upload.Readings))
	options := []client.Option{client.WithRetries(0), client.WithHTTPClient(&http.Client{Transport: limited})}
	if s.KeyFile != "" {
		text, err := os.ReadFile(s.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("server.key_file: %w", err)
		}
		options = append(options, client.WithKey(strings.TrimSpace(string(text))))
	}
	return client.New(s.URL, options...)
}

func readCertificate(s *settings.HTTP) (*tls.Config, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("http.tls_cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}
