package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/internal/acceptlog"
	"github.com/varvedb/varve/mqtt"
)

// mqttDoor is the door for MQTT. It can have a client and a listener, depending on the configuration.
type mqttDoor struct {
	socket   net.Listener // socket of the listener, opened before the store; nil without mqtt.listen
	client   atomic.Pointer[mqtt.Client]
	listener atomic.Pointer[mqtt.Listener]
	password string               // password of the client at the broker
	secure   *tls.Config          // TLS configuration of the client
	metrics  *prometheus.Registry // registry of the process's metrics, set by newHandler
}

// openMQTT opens the port of the listener, and reads the files of the client. So mistakes appear
// before the store is opened.
func openMQTT(ctx context.Context, c *config.Config) (*mqttDoor, error) {
	d := &mqttDoor{}
	var err error
	if c.MQTT.URL != "" {
		if d.password, err = readPassword(c.MQTT.PasswordFile); err == nil {
			d.secure, err = brokerTLS(&c.MQTT)
		}
		if err != nil {
			return nil, usageError{err}
		}
	}
	if c.MQTT.Listen != "" {
		d.socket, err = listen(ctx, c.MQTT.Listen, "the setting mqtt.listen")
	}
	return d, err
}

// abandon closes the port of a door that was not started.
func (d *mqttDoor) abandon() error {
	if d.socket == nil {
		return nil
	}
	return d.socket.Close()
}

func (d *mqttDoor) status() (body wire.MQTTBody) {
	if c := d.client.Load(); c != nil {
		body.Client = c.Status()
	}
	if l := d.listener.Load(); l != nil {
		body.Listener = l.Status()
	}
	return body
}

func (d *mqttDoor) start(c *config.Config, e *engine.Engine, served *api.Server, secured *tls.Config, log zerolog.Logger) error {
	m := &c.MQTT
	if m.URL == "" && m.Listen == "" {
		return nil
	}
	table, err := c.TopicTable()
	if err != nil {
		return errors.Join(err, d.abandon()) // does not happen: the configuration has been checked
	}
	metrics := mqtt.NewMetrics(d.metrics, mqtt.Parts{Client: m.URL != "", Listener: m.Listen != ""})
	receiver := mqtt.NewReceiver(mqtt.ReceiverOptions{
		Ingester: served.NewMQTTIngester(), Table: table, Lines: c.Influx.Mapping(), Now: e.Now, MaxMessage: int(m.MaxMessage), Metrics: metrics,
		Rejects: e.Rejects,
	})
	if d.socket != nil {
		l, err := mqtt.StartListener(mqtt.ListenerOptions{
			Receiver: receiver, Metrics: metrics, Listener: acceptlog.New(d.socket, log, now), TLS: secured, Keys: e.Keys, KeysRequired: !m.Loopback(),
			MaxMessage: int(m.MaxMessage), Now: e.Now,
		})
		if err != nil {
			return fmt.Errorf("listen for MQTT: %w", errors.Join(err, d.abandon()))
		}
		d.listener.Store(l)
		log.Info().Str("listen", l.Addr().String()).Msg("MQTT listener started")
	}
	if m.URL != "" {
		d.client.Store(mqtt.StartClient(mqtt.ClientOptions{
			Receiver: receiver, Metrics: metrics, URL: m.URL, User: m.User, Password: d.password, ClientID: m.ClientID, Protocol: m.Protocol,
			Filters: table.Filters(), Share: m.Share, Tenant: m.Tenant, Window: m.Window, Session: m.Session, TLS: d.secure,
			Conditions: e.Conditions, Now: e.Now, Events: mqttEvents(log, m.URL),
		}))
	}
	return nil
}

func mqttEvents(log zerolog.Logger, url string) mqtt.ClientEvents {
	failures := newFailures(log, now)
	return mqtt.ClientEvents{
		Connected: func(protocol string) {
			log.Info().Str("broker", url).Str("protocol", protocol).Msg("MQTT broker connected")
		},
		Disconnected: func(err error, retry time.Duration) {
			if leftOut, due := failures.due("broker"); due {
				counted(log.Warn().Err(err).Str("broker", url).Stringer("retry", retry), leftOut).Msg("MQTT broker disconnected, retrying")
			}
		},
	}
}

// stop ends the client and the listener. Messages that were received are stored and acknowledged.
func (d *mqttDoor) stop() error {
	if c := d.client.Load(); c != nil {
		c.Close()
	}
	if l := d.listener.Load(); l != nil {
		return l.Close()
	}
	return nil
}

// readPassword returns the first line of a file, or "" without a file.
func readPassword(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("mqtt.password_file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// brokerTLS returns the TLS configuration of the client, or nil for the defaults.
func brokerTLS(m *config.MQTT) (*tls.Config, error) {
	if m.CAFile == "" && m.CertFile == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.CAFile != "" {
		text, err := os.ReadFile(m.CAFile)
		if err != nil {
			return nil, fmt.Errorf("mqtt.ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("mqtt.ca_file: %s has no certificate in PEM: name another file", m.CAFile)
		}
	}
	if m.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(m.CertFile, m.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("mqtt.cert_file: %w", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}
