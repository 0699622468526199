// Package settings reads the configuration of an agent.
//
//	defaults ◀─ YAML file ◀─ environment (VARVE_AGENT_…) ◀─ flags   (each overrides all on its left)
//
// The main types and functions:
//
//   - [Settings] has all settings, and derives the options of other packages.
//   - [Source] names the file, the environment and the flags.
//   - [Load] returns [Loaded]: the settings with the origin of each value.
//
// The settings follow the conventions of package config. That package depends on most parts of a
// server, and the small program of an agent must not contain them. So the agent has its own
// package.
//
// If settings are invalid, the error is [Mistakes]: it lists all of them, each with its origin.
// Settings are read once. A change takes effect at the next start.
package settings

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/settings"
	"github.com/varvedb/varve/mqtt/topic"
)

// Settings is the configuration of an agent.
type Settings struct {
	Server Server
	HTTP   HTTP
	MQTT   MQTT
	Topics map[string]topic.Rule
	Lines  Lines
	Outbox Outbox
	Upload Upload
	Memory settings.Size // soft limit of the memory of Go, in bytes
	Log    Log
}

// Server configures the server that receives the readings.
type Server struct{ URL, KeyFile, CAFile string }

// HTTP configures the local API.
type HTTP struct {
	Listen           string
	KeysFile         string // if empty, only this machine may connect, without a key
	TLSCert, TLSKey  string
	MaxBody          settings.Size
	ConcurrentWrites int
}

// MQTT configures the local listener.
type MQTT struct {
	Listen     string // address and port; if empty, the agent has no listener
	MaxMessage settings.Size
	Presets    string
}

// Lines configures the tags of line protocol.
type Lines struct{ Device, Tags, FieldTags string }

// Outbox configures the folder of readings.
type Outbox struct {
	Dir      string
	MaxBytes settings.Size
	Full     string        // policy of a full outbox: drop or refuse
	Order    string        // readings that the agent sends first: oldest or newest
	Keep     time.Duration // how long confirmed readings stay for a comparison with the server; 0 means no comparison
}

// Upload configures the sending of readings.
type Upload struct {
	Readings          int
	ReadingsPerSecond int
	BytesPerSecond    settings.Size
	Every, MaxWait    time.Duration
}

// Log configures the log.
type Log struct{ Level, Format string }

// Default returns the settings that apply if no file, environment variable or flag sets them.
func Default() Settings {
	return Settings{
		HTTP: HTTP{Listen: "127.0.0.1:8279", MaxBody: 64 << 20, ConcurrentWrites: 8},
		MQTT: MQTT{MaxMessage: 64 << 10}, Topics: map[string]topic.Rule{},
		Lines:  Lines{Device: strings.Join(wire.DefaultDeviceTags, ","), Tags: "series"},
		Outbox: Outbox{Dir: "outbox", MaxBytes: 256 << 20, Full: "drop", Order: "oldest", Keep: 24 * time.Hour},
		Upload: Upload{Readings: 1000, Every: time.Second, MaxWait: 5 * time.Minute},
		Memory: 6 << 20, Log: Log{Level: "info", Format: "console"},
	}
}

type setting = settings.Setting[Settings]

var (
	text  = settings.Text[Settings]
	whole = settings.Whole[Settings]
	oneOf = settings.OneOf
	words = settings.Words
)

// span returns a setting for a duration of more than 0.
func span(key, doc string, at func(*Settings) *time.Duration) setting {
	return settings.Positive(duration(key, doc, at))
}

// maxUpload is the maximum of upload.readings. It exists because the readings of a request, and the answer,
// are in memory.
const maxUpload = 100_000

// maxKeep is the maximum of outbox.keep.
const maxKeep = 365 * 24 * time.Hour

// retentionSetting returns a setting for a duration of up to maxKeep, or 0.
func retentionSetting(key, doc string, at func(*Settings) *time.Duration) setting {
	of := duration(key, doc, at)
	set := of.Set
	of.Set = func(s *Settings, value string) error {
		changed := *s
		if err := set(&changed, value); err != nil {
			return err
		}
		if *at(&changed) > maxKeep {
			return fmt.Errorf("%s is too long: use at most 1y", value)
		}
		*s = changed
		return nil
	}
	return of
}

// duration returns a setting for a duration. Unlike settings.Span, it accepts 0 and durations below a
// second, such as 200ms.
func duration(key, doc string, at func(*Settings) *time.Duration) setting {
	of := settings.Span(key, doc, at)
	set := of.Set
	of.Set = func(s *Settings, value string) error {
		if short, err := time.ParseDuration(value); err == nil && short >= 0 && short < time.Second {
			*at(s) = short
			return nil
		}
		return set(s, value)
	}
	return of
}

// size returns a setting for a size. It refuses sizes below the argument "least".
func size(key, doc string, least settings.Size, at func(*Settings) *settings.Size) setting {
	of := settings.Bytes(key, doc, at)
	set := of.Set
	of.Set = func(s *Settings, value string) error {
		if n, err := settings.ParseSize(value); err == nil && n < least {
			return fmt.Errorf("%s is too little: use at least %s", value, least)
		}
		return set(s, value)
	}
	return of
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not an address, as in https://varve.example.com", s)
	}
	return nil
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if s != "" && err != nil {
		return fmt.Errorf("%q is not an address and port, as in 127.0.0.1:8279", s)
	}
	return nil
}

// all lists the settings, except the settings of topic rules, such as topics.NAME.pattern.
var all = []setting{
	text("server.url", "address of the server that receives the readings, as in https://varve.example.com", func(s *Settings) *string { return &s.Server.URL }, checkURL),
	text("server.key_file", "file with an API key of the server that may write; if empty, none is sent", func(s *Settings) *string { return &s.Server.KeyFile }, nil),
	text("server.ca_file", "file of the certificates that the server's certificate is checked with; if empty, the system's", func(s *Settings) *string { return &s.Server.CAFile }, nil),
	text("http.listen", "address and port of the local API; one that other machines reach requires http.keys_file", func(s *Settings) *string { return &s.HTTP.Listen }, checkAddress),
	text("http.keys_file", "file with the keys of local devices, one per line, of 16 characters or more; if empty, no key is needed", func(s *Settings) *string { return &s.HTTP.KeysFile }, nil),
	text("http.tls_cert", "file of a certificate chain in PEM, for HTTP and MQTT; if empty, no TLS", func(s *Settings) *string { return &s.HTTP.TLSCert }, nil),
	text("http.tls_key", "file of the certificate's private key, in PEM", func(s *Settings) *string { return &s.HTTP.TLSKey }, nil),
	size("http.max_body", "maximum length of a body after decompression", 1, func(s *Settings) *settings.Size { return &s.HTTP.MaxBody }),
	whole("http.writes", "writes over HTTP at the same time; others wait", 1, func(s *Settings) *int { return &s.HTTP.ConcurrentWrites }),
	text("mqtt.listen", "address and port on which devices connect with MQTT; if empty, none", func(s *Settings) *string { return &s.MQTT.Listen }, checkAddress),
	size("mqtt.max_message", "maximum length of a message", 1, func(s *Settings) *settings.Size { return &s.MQTT.MaxMessage }),
	text("mqtt.presets", "topics of common senders, separated by commas: "+strings.Join(topic.Presets(), ", "), func(s *Settings) *string { return &s.MQTT.Presets }, nil),
	text("lines.device", "line protocol: tags that may hold the device, separated by commas; the first one of a line is used", func(s *Settings) *string { return &s.Lines.Device }, nil),
	text("lines.tags", "line protocol: use of the other tags: series (part of the device's name) or fields", func(s *Settings) *string { return &s.Lines.Tags }, oneOf("series", "fields")),
	text("lines.field_tags", "line protocol: tags that are fields in either case, separated by commas", func(s *Settings) *string { return &s.Lines.FieldTags }, nil),
	text("outbox.dir", "the folder that keeps readings until the server has confirmed them", func(s *Settings) *string { return &s.Outbox.Dir }, nil),
	size("outbox.max_bytes", "maximum size of the folder", outbox.MinBytes, func(s *Settings) *settings.Size { return &s.Outbox.MaxBytes }),
	text("outbox.full", "when the folder is full: drop (the oldest readings) or refuse (new ones)", func(s *Settings) *string { return &s.Outbox.Full }, oneOf("drop", "refuse")),
	text("outbox.order", "which readings are sent first: oldest or newest", func(s *Settings) *string { return &s.Outbox.Order }, oneOf("oldest", "newest")),
	retentionSetting("outbox.keep", "how long confirmed readings stay in the folder before they are compared with the server and removed; 0 means no comparison", func(s *Settings) *time.Duration { return &s.Outbox.Keep }),
	settings.Most(maxUpload, whole("upload.readings", "maximum number of readings in a request", 1, func(s *Settings) *int { return &s.Upload.Readings })),
	whole("upload.readings_per_second", "maximum rate of readings; 0 means no limit", 0, func(s *Settings) *int { return &s.Upload.ReadingsPerSecond }),
	size("upload.bytes_per_second", "maximum rate of compressed bytes; 0 means no limit", 0, func(s *Settings) *settings.Size { return &s.Upload.BytesPerSecond }),
	span("upload.every", "pause after a request, unless further readings wait", func(s *Settings) *time.Duration { return &s.Upload.Every }),
	span("upload.max_wait", "longest wait between two attempts while the server cannot be reached", func(s *Settings) *time.Duration { return &s.Upload.MaxWait }),
	size("memory", "soft limit of the memory of the program, without its code", 4<<20, func(s *Settings) *settings.Size { return &s.Memory }),
	text("log.level", "debug, info, warn or error", func(s *Settings) *string { return &s.Log.Level }, oneOf("debug", "info", "warn", "error")),
	text("log.format", "console or json", func(s *Settings) *string { return &s.Log.Format }, oneOf("console", "json")),
}

// find returns the setting of a key. For a key such as topics.NAME.pattern, it creates the setting.
func find(key string) (setting, bool) {
	for _, s := range all {
		if s.Key == key {
			return s, true
		}
	}
	group, rest, _ := strings.Cut(key, ".")
	dot := strings.LastIndexByte(rest, '.')
	if group != "topics" || dot < 1 {
		return setting{}, false
	}
	name, field := rest[:dot], rest[dot+1:]
	for _, f := range topic.RuleSettings() {
		if f.Name == field && field != "tenant" { // the agent's API key decides the tenant
			return setting{Key: key, Doc: f.Doc, Get: func(s *Settings) string { r := s.Topics[name]; return *f.At(&r) }, Set: func(s *Settings, value string) error {
				r := s.Topics[name]
				*f.At(&r) = value
				s.Topics[name] = r
				return nil
			}}, true
		}
	}
	return setting{}, false
}
