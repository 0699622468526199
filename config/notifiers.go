package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/notify/mqtt"
	"github.com/varvedb/varve/notify/sns"
)

// Notifier configures a receiver of alerts.
type Notifier struct {
	Kind       string
	URL        string
	Topic      string // topic of an MQTT broker, or ARN of a topic of Amazon SNS
	User       string // name with which Varve connects to a broker
	SecretFile string // file with the secret, the token or the password
	SecretEnv  string // environment variable with the secret, as an alternative to SecretFile
	Severities string // severities of the alerts to send, separated by commas; empty means all
	Streams    string // streams of the alerts to send, separated by commas; empty means all
	Rules      string // rules of the alerts to send, separated by commas; empty means all
	Tenants    string // tenants of the alerts to send, separated by commas; empty means all
}

// Alerts configures the delivery of alerts.
type Alerts struct {
	URL    string        // address of Varve that messages link to; if empty, messages have no links
	Digest time.Duration // time over which the late alerts of a rule are collected
}

// NotifierKinds returns the values of a notifier's kind.
func NotifierKinds() []string { return []string{"webhook", "alertmanager", "mqtt", "sns"} }

// notifierSettings returns the settings of one notifier, by the last part of their keys.
func notifierSettings(name string) map[string]setting {
	at := func(what, doc string, field func(*Notifier) *string, check func(string) error) setting {
		return setting{
			Key: "notifiers." + name + "." + what, Doc: doc,
			Get: func(c *Config) string {
				n := c.Notifiers[name]
				return *field(&n)
			},
			Set: func(c *Config, text string) error {
				n := c.Notifiers[name]
				if check != nil {
					if err := check(text); err != nil {
						c.Notifiers[name] = n
						return err
					}
				}
				*field(&n) = text
				c.Notifiers[name] = n
				return nil
			},
		}
	}
	return map[string]setting{
		"kind":        at("kind", "protocol: "+strings.Join(NotifierKinds(), ", "), func(n *Notifier) *string { return &n.Kind }, oneOf(NotifierKinds()...)),
		"url":         at("url", "address of the receiver; sns: only for an emulator", func(n *Notifier) *string { return &n.URL }, nil),
		"topic":       at("topic", "mqtt: topic; if empty, varve/alerts. sns: ARN of the topic", func(n *Notifier) *string { return &n.Topic }, nil),
		"user":        at("user", "mqtt: name of the user", func(n *Notifier) *string { return &n.User }, nil),
		"secret_file": at("secret_file", "file with the secret of a webhook, the token of an Alertmanager or the password of a broker", func(n *Notifier) *string { return &n.SecretFile }, nil),
		"secret_env":  at("secret_env", "environment variable with the secret, in place of secret_file", func(n *Notifier) *string { return &n.SecretEnv }, nil),
		"severities":  at("severities", "severities of the alerts, separated by commas; if empty, all", func(n *Notifier) *string { return &n.Severities }, checkSeverities),
		"streams":     at("streams", "streams of the alerts, separated by commas; if empty, all", func(n *Notifier) *string { return &n.Streams }, checkNames),
		"rules":       at("rules", "rules of the alerts, separated by commas; if empty, all", func(n *Notifier) *string { return &n.Rules }, checkNames),
		"tenants":     at("tenants", "tenants of the alerts, separated by commas; if empty, all", func(n *Notifier) *string { return &n.Tenants }, checkNames),
	}
}

func checkSeverities(list string) error {
	for _, s := range words(list) {
		if !slices.Contains(alerts.Severities(), alerts.Severity(s)) {
			return fmt.Errorf("%q is unknown: use info, warning or critical", s)
		}
	}
	return nil
}

func checkNames(list string) error {
	for _, name := range words(list) {
		if err := varve.ValidateName("name", name); err != nil {
			return err
		}
	}
	return nil
}

func checkPublicURL(s string) error {
	if s == "" {
		return nil
	}
	return notify.CheckURL(s)
}

// validateNotifiers checks, for each notifier, the settings that depend on each other.
func (l *loader) validateNotifiers(c *Config) {
	for _, name := range sortedKeys(c.Notifiers) {
		n := c.Notifiers[name]
		mistake := func(what, format string, args ...any) {
			key := "notifiers." + name + "." + what
			l.mistake(l.originOf(key), key, format, args...)
		}
		if err := varve.ValidateName("name", name); err != nil {
			mistake("kind", "the notifier's name: %s", err)
		}
		if n.Kind == "" && !l.mentions("notifiers", name, "kind") {
			mistake("kind", "is missing: use %s", strings.Join(NotifierKinds(), " or "))
		}
		what, err := n.check()
		if err != nil {
			mistake(what, "%s", err)
		}
		if n.SecretFile != "" && n.SecretEnv != "" {
			mistake("secret_env", "excludes secret_file: remove one")
		}
	}
}

// check returns the first mistake in the settings that depend on the kind, and the last part of the
// setting's key.
func (n *Notifier) check() (what string, err error) {
	switch {
	case n.Kind == "":
		return "", nil
	case n.Kind == "sns":
		if err := sns.CheckTopic(n.Topic); err != nil {
			return "topic", err
		}
		return "url", checkEndpoint(n.URL)
	case n.URL == "":
		return "url", errors.New("is missing: set the address of the receiver")
	case n.Kind == "mqtt":
		if err := mqtt.CheckURL(n.URL); err != nil {
			return "url", err
		}
		return "topic", mqtt.CheckTopic(n.Topic)
	case n.Topic != "":
		return "topic", errors.New("is for mqtt and sns: remove it")
	default:
		return "url", notify.CheckURL(n.URL)
	}
}

// mentions reports whether a setting of a notifier is in a source, valid or not.
func (l *loader) mentions(parts ...string) bool {
	_, ok := l.origins[strings.Join(parts, sep)]
	return ok
}

// Secret returns the secret of a notifier, or "" if it has none.
func (n *Notifier) Secret() (string, error) {
	switch {
	case n.SecretEnv != "":
		text := os.Getenv(n.SecretEnv)
		if text == "" {
			return "", fmt.Errorf("secret_env: the variable %s is empty: set it", n.SecretEnv)
		}
		return text, nil
	case n.SecretFile != "":
		data, err := os.ReadFile(n.SecretFile)
		if err != nil {
			return "", fmt.Errorf("secret_file: %w", err)
		}
		if text := strings.TrimSpace(string(data)); text != "" {
			return text, nil
		}
		return "", errors.New("secret_file: the file is empty: write the secret into it")
	}
	return "", nil
}

// Route returns the conditions that select the alerts of a notifier.
func (n *Notifier) Route() notify.Route {
	r := notify.Route{Streams: words(n.Streams), Rules: words(n.Rules), Tenants: words(n.Tenants)}
	for _, s := range words(n.Severities) {
		r.Severities = append(r.Severities, alerts.Severity(s))
	}
	return r
}
