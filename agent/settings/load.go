package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/settings"
	"github.com/varvedb/varve/mqtt/topic"
)

// EnvPrefix is the prefix of variables that set settings: VARVE_AGENT_OUTBOX_DIR sets outbox.dir.
const EnvPrefix = "VARVE_AGENT_"

// fileVariable is the environment variable that names the configuration file.
const fileVariable = EnvPrefix + "CONFIG"

// Source lists the sources of a configuration.
type Source struct {
	File     string // path of the configuration file; "" means no file
	Required bool   // if true, a missing file is a mistake
	Environ  []string
	// Flags maps keys to values, and FlagNames maps the same keys to flags, such as --listen.
	Flags, FlagNames map[string]string
}

// Mistakes lists all mistakes in a configuration, each with its origin.
type Mistakes []string

func (m Mistakes) Error() string { return strings.Join(m, "\n") }

// Loaded is a configuration with the origin of each value.
type Loaded struct {
	Settings
	// Origins maps keys to origins: agent.yaml:3, VARVE_AGENT_OUTBOX_DIR, --listen. A missing key has its
	// default value.
	Origins map[string]string
}

// Load reads a configuration. The error, if any, is Mistakes.
func Load(src Source) (*Loaded, error) {
	l := &loader{loaded: &Loaded{Settings: Default(), Origins: map[string]string{}}}
	l.file(src)
	for _, variable := range src.Environ {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, EnvPrefix) && name != fileVariable && !settings.IsInjected(name, value) {
			l.set(keyOf(name), value, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(src.Flags)) {
		l.set(key, src.Flags[key], src.FlagNames[key])
	}
	l.check()
	if len(l.mistakes) > 0 {
		return l.loaded, l.mistakes
	}
	return l.loaded, nil
}

// keyOf returns the key that a variable sets. For an unknown variable, it returns an unknown key.
func keyOf(variable string) string {
	for _, s := range all {
		if EnvOf(s.Key) == variable {
			return s.Key
		}
	}
	return strings.ToLower(strings.TrimPrefix(variable, EnvPrefix))
}

// EnvOf returns the variable that sets a key.
func EnvOf(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

type loader struct {
	loaded   *Loaded
	mistakes Mistakes
}

func (l *loader) mistake(place, format string, args ...any) {
	l.mistakes = append(l.mistakes, place+": "+fmt.Sprintf(format, args...))
}

// set parses the text of one setting. The argument "place" is the origin of the text.
func (l *loader) set(key, value, place string) {
	s, ok := find(key)
	if !ok {
		l.mistake(place, "%s: unknown setting: varve-agent config print lists all settings", key)
		return
	}
	if err := s.Set(&l.loaded.Settings, value); err != nil {
		l.mistake(place, "%s: %s", key, err)
		return
	}
	l.loaded.Origins[key] = place
}

func (l *loader) file(src Source) {
	if src.File == "" {
		return
	}
	data, err := os.ReadFile(src.File)
	if err != nil {
		if src.Required || !errors.Is(err, fs.ErrNotExist) {
			l.mistake(src.File, "%s", errors.Unwrap(err))
		}
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		l.mistake(src.File, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if len(doc.Content) > 0 {
		l.node(src.File, "", doc.Content[0])
	}
}

// node sets the values of a YAML node and of the nodes below it. Aliases are refused, so that the
// depth is bounded.
func (l *loader) node(file, key string, n *yaml.Node) {
	place := fmt.Sprintf("%s:%d", file, n.Line)
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			at := n.Content[i].Value
			if key != "" {
				at = key + "." + at
			}
			l.node(file, at, n.Content[i+1])
		}
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
	case n.Kind == yaml.ScalarNode:
		l.set(key, n.Value, place)
	default:
		l.mistake(place, "%s: is not a value: write a text or a number", key)
	}
}

// check reports required settings that are missing, and settings that do not fit each other.
func (l *loader) check() {
	s := &l.loaded.Settings
	if s.Server.URL == "" {
		l.mistake("configuration", "server.url: is missing: name the server that receives the readings")
	}
	if s.HTTP.Listen == "" && s.MQTT.Listen == "" {
		l.mistake(l.place("http.listen"), "http.listen: is empty, and mqtt.listen, too: set one of them")
	}
	for _, p := range []struct{ key, address string }{{"http.listen", s.HTTP.Listen}, {"mqtt.listen", s.MQTT.Listen}} {
		if p.address != "" && !Loopback(p.address) && s.HTTP.KeysFile == "" {
			l.mistake(l.place(p.key), "%s: %s can be reached from other machines: set http.keys_file, or use 127.0.0.1", p.key, p.address)
		}
	}
	if (s.HTTP.TLSCert == "") != (s.HTTP.TLSKey == "") {
		l.mistake(l.place("http.tls_cert"), "http.tls_cert: requires http.tls_key, and the reverse: set both or neither")
	}
	if _, err := s.TopicTable(); err != nil {
		l.mistake(l.place("mqtt.presets"), "topics: %s", err)
	}
}

func (l *loader) place(key string) string {
	if p, ok := l.loaded.Origins[key]; ok {
		return p
	}
	return "default"
}

// Loopback reports whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// TopicTable returns the routes of the topics and presets, as topic.NewTable orders them.
func (s *Settings) TopicTable() (topic.Table, error) {
	return topic.NewTable(s.Topics, words(s.MQTT.Presets))
}

// LineMapping returns the use of the tags of line protocol in readings.
func (s *Settings) LineMapping() *wire.LineMapping {
	return &wire.LineMapping{Device: words(s.Lines.Device), TagFields: s.Lines.Tags == "fields", FieldTags: words(s.Lines.FieldTags)}
}

// OutboxOptions returns the options of the outbox.
func (s *Settings) OutboxOptions() outbox.Options {
	o := outbox.Options{Dir: s.Outbox.Dir, MaxBytes: int64(s.Outbox.MaxBytes), Keep: s.Outbox.Keep}
	if s.Outbox.Full == "refuse" {
		o.Full = outbox.RefuseNewest
	}
	if s.Outbox.Order == "newest" {
		o.Order = outbox.NewestFirst
	}
	return o
}

// Value is one configured value.
type Value struct{ Key, Value, Origin, Doc string }

// Values lists all values with their origins.
func (l *Loaded) Values() (list []Value) {
	keys := []string{}
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(l.Origins)) {
		if strings.HasPrefix(key, "topics.") {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		s, _ := find(key)
		origin, ok := l.Origins[key]
		if !ok {
			origin = "default"
		}
		list = append(list, Value{Key: key, Value: s.Get(&l.Settings), Origin: origin, Doc: s.Doc})
	}
	return list
}
