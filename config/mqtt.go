package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/mqtt/topic"
)

// MQTT configures the client of a broker, and the listener for devices.
type MQTT struct {
	URL                       string // address of the broker; if empty, the server has no client
	User, PasswordFile        string
	ClientID                  string
	Protocol                  string // version of MQTT: auto, 5 or 3.1.1
	CAFile, CertFile, KeyFile string
	Share                     string // name of a shared subscription; if empty, no other process shares the messages
	Tenant                    string // tenant of messages whose topics name none
	Window                    int    // maximum number of received messages that are not acknowledged
	Session                   time.Duration
	Listen                    string // address and port of the listener; if empty, the server has no listener
	MaxMessage                Size
	Presets                   string // names of presets of patterns and payloads, separated by commas
}

// maxWindow is the largest value of the setting mqtt.window. For each acknowledgement, the library
// of MQTT 5 searches all unacknowledged messages one by one.
const maxWindow = 10_000

func defaultMQTT() MQTT {
	return MQTT{
		ClientID: "varve", Protocol: "auto", Tenant: varve.DefaultTenant, Window: 1000,
		Session: 7 * 24 * time.Hour, MaxMessage: 1 << 20,
	}
}

// Loopback reports whether only this machine can reach the listener.
func (m MQTT) Loopback() bool { return Server{Listen: m.Listen}.Loopback() }

// TopicTable returns the routes of Topics, sorted by name, and then the routes of presets. If both are
// empty, it returns the route of topic.DefaultPattern.
func (c *Config) TopicTable() (topic.Table, error) {
	return topic.NewTable(c.Topics, words(c.MQTT.Presets))
}

// topicSettings returns the settings of one rule of topics, by the last part of their keys.
func topicSettings(name string) map[string]setting {
	all := map[string]setting{}
	for _, m := range topic.RuleSettings() {
		all[m.Name] = setting{
			Key: "topics." + name + "." + m.Name, Doc: m.Doc,
			Get: func(c *Config) string { r := c.Topics[name]; return *m.At(&r) },
			Set: func(c *Config, text string) error {
				r := c.Topics[name]
				*m.At(&r) = text
				c.Topics[name] = r
				return nil
			},
		}
	}
	return all
}

// validateTopics checks the rules of topics, and the MQTT settings that depend on each other.
func (l *loader) validateTopics(c *Config) {
	for _, name := range sortedKeys(c.Topics) {
		_, err := c.Topics[name].Compile()
		var e *varve.Error
		if errors.As(err, &e) {
			key := "topics." + name + "." + e.Param
			l.mistake(l.originOf(key), key, "%s", e.Message)
		}
	}
	m := &c.MQTT
	for _, pair := range []struct{ key, value, other, needs string }{
		{"mqtt.cert_file", m.CertFile, "mqtt.key_file", m.KeyFile},
		{"mqtt.key_file", m.KeyFile, "mqtt.cert_file", m.CertFile},
		{"mqtt.password_file", m.PasswordFile, "mqtt.user", m.User},
		{"mqtt.share", m.Share, "mqtt.url", m.URL},
	} {
		if pair.value != "" && pair.needs == "" {
			l.mistake(l.originOf(pair.key), pair.key, "requires %s", pair.other)
		}
	}
}

func checkBroker(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts":
		return fmt.Errorf("%q is not the address of a broker, as in mqtt://broker:1883 or mqtts://broker:8883", s)
	case u.User != nil:
		return errors.New("the address has a user: set mqtt.user and mqtt.password_file, because logs show addresses")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return fmt.Errorf("%q has a path: remove it", s)
	}
	return nil
}

func checkClientID(s string) error {
	if s == "" || len(s) > 65 || strings.ContainsAny(s, "\x00+#/ ") {
		return fmt.Errorf("%q is not a client id: use 1 to 65 letters, digits, . _ -", s)
	}
	return nil
}

func checkShare(s string) error {
	if strings.ContainsAny(s, "/+#\x00 ") {
		return fmt.Errorf("%q is not the name of a shared subscription: use letters, digits, . _ -", s)
	}
	return nil
}

func checkListen(s string) error {
	if s == "" {
		return nil
	}
	return checkAddress(s)
}

func checkPresets(list string) error {
	for _, name := range words(list) {
		if _, err := topic.PresetRules(name); err != nil {
			var e *varve.Error
			if errors.As(err, &e) {
				return errors.New(e.Message)
			}
			return err
		}
	}
	return nil
}
