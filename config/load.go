package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/timefmt"
)

// Source lists the sources of a configuration.
type Source struct {
	// File is the path of the YAML file. If empty, no file is read. A missing file is a mistake only if
	// Required is true.
	File     string
	Required bool
	// Environ is the environment, as os.Environ returns it.
	Environ []string
	// Flags maps keys to values from the command line. FlagNames maps the same keys to the flags,
	// such as --listen.
	Flags     map[string]string
	FlagNames map[string]string
}

// Loaded is a configuration with the origin of each value.
type Loaded struct {
	Config
	// Origins maps keys to the line, variable or flag that set them: varve.yaml:3, VARVE_LOG_LEVEL,
	// --listen. A key that is missing here has its default value.
	Origins map[string]string
	// Warnings lists the variables that begin with EnvPrefix and have no effect. Variables that
	// Kubernetes or Docker adds are omitted.
	Warnings []Mistake
}

// EnvPrefix is the prefix of variables that set settings: VARVE_SERVER_LISTEN sets server.listen.
const EnvPrefix = "VARVE_"

// flagVariables maps variables that are named after a flag to the setting of the flag.
var flagVariables = map[string]string{"VARVE_STORE": "store.kind", "VARVE_DATA": "store.dir", "VARVE_DROP": "retention.drop"}

// others are variables that begin with EnvPrefix but do not belong to a setting.
var others = []string{"VARVE_CONFIG", "VARVE_SERVER", "VARVE_KEY", "VARVE_KEY_FILE", "VARVE_CA_FILE"}

// sep separates the parts of keys while layers are merged. A dot cannot do so, because names of streams
// may contain dots. The byte 0xff cannot occur in a YAML file, which is UTF-8.
const sep = "\xff"

// Load reads a configuration. The error, if any, is Mistakes.
func Load(src Source) (*Loaded, error) {
	l := &loader{merged: koanf.New(sep), origins: map[string]string{}, within: map[*yaml.Node]bool{}}
	l.file(src)
	l.environ(src)
	l.flags(src)
	loaded := l.decode()
	loaded.Warnings = l.warnings
	l.validate(loaded)
	if len(l.mistakes) > 0 {
		return loaded, l.mistakes
	}
	return loaded, nil
}

type loader struct {
	merged   *koanf.Koanf
	origins  map[string]string   // the origin of each set key; the parts of the key are separated by sep
	within   map[*yaml.Node]bool // mapping nodes that contain the current node
	mistakes Mistakes
	warnings []Mistake
}

func (l *loader) mistake(origin, key, format string, args ...any) {
	l.mistakes = append(l.mistakes, Mistake{origin, strings.ReplaceAll(key, sep, "."), fmt.Sprintf(format, args...)})
}

// add puts a value into a layer if its setting exists, and otherwise records a mistake. Values are
// checked after all layers are merged.
func (l *loader) add(values map[string]any, path, value, origin string) {
	if l.known(origin, path) {
		values[path], l.origins[path] = value, origin
	}
}

// known reports whether a path is a setting, and records a mistake if it is not.
func (l *loader) known(origin, path string) bool {
	key := strings.ReplaceAll(path, sep, ".")
	_, ok := find(key)
	switch {
	case !ok:
		l.mistake(origin, path, "unknown setting: %s", suggest(key))
	case pathOf(key) != path:
		l.mistake(origin, path, "write each part of it on a line of its own, below the one before")
		ok = false
	}
	return ok
}

// isGroup reports whether a path may have settings below it.
func isGroup(path string) bool {
	key := strings.ReplaceAll(path, sep, ".") + "."
	group, _, named := strings.Cut(path, sep)
	if group == "classes" || group == "streams" || group == "notifiers" || group == "topics" {
		return !named || strings.Count(path, sep) == 1
	}
	return slices.ContainsFunc(all, func(s setting) bool { return strings.HasPrefix(s.Key, key) })
}

// load merges a layer over the earlier ones. An error is not expected, because the maps are flat.
func (l *loader) load(values map[string]any) {
	if err := l.merged.Load(confmap.Provider(values, sep), nil); err != nil {
		l.mistake("configuration", "", "%s", err)
	}
}

// flags adds the settings on the command line as a layer.
func (l *loader) flags(src Source) {
	values := map[string]any{}
	for key, value := range src.Flags {
		l.add(values, pathOf(key), value, src.FlagNames[key])
	}
	l.load(values)
}

// pathOf replaces the dots between the parts of a key with sep. A name in the middle may contain dots.
func pathOf(key string) string {
	group, rest, ok := strings.Cut(key, ".")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return strings.ReplaceAll(key, ".", sep)
	}
	return group + sep + rest[:dot] + sep + rest[dot+1:]
}

// decode converts the merged layers to a configuration.
func (l *loader) decode() *Loaded {
	loaded := &Loaded{Config: Default(), Origins: map[string]string{}}
	for _, path := range l.merged.Keys() {
		key := strings.ReplaceAll(path, sep, ".")
		s, _ := find(key) // always found: add has added only known keys
		if err := s.Set(&loaded.Config, l.merged.String(path)); err != nil {
			l.mistake(l.origins[path], path, "%s", err)
			continue
		}
		loaded.Origins[key] = l.origins[path]
	}
	l.unset(loaded)
	return loaded
}

// unset adds streams and notifiers that are named without any setting. For a class or topic without a
// setting, it records a mistake.
func (l *loader) unset(loaded *Loaded) {
	for path, origin := range l.origins {
		parts := strings.Split(path, sep)
		if len(parts) != 2 {
			continue
		}
		switch name := parts[1]; parts[0] {
		case "topics":
			if _, ok := loaded.Topics[name]; !ok {
				l.mistake(origin, path+sep+"pattern", "is missing")
			}
		case "classes":
			if _, ok := loaded.Classes[name]; !ok {
				l.mistake(origin, path+sep+"retention", "is missing")
			}
		case "streams":
			if _, ok := loaded.Streams[name]; !ok {
				loaded.Streams[name] = Stream{}
			}
		case "notifiers":
			if _, ok := loaded.Notifiers[name]; !ok {
				loaded.Notifiers[name] = Notifier{}
			}
		}
	}
}

// params maps parameters of the policies' errors to keys.
var params = map[string]string{
	"prefix": "tables.prefix", "future": "tables.future", "recent": "tables.recent_weeks", "doubling": "tables.doubling", "months_ahead": "tables.months_ahead",
	"seal": "retention.seal", "grace": "retention.grace", "max_drops": "retention.max_drops",
}

// validate checks settings that depend on each other.
func (l *loader) validate(loaded *Loaded) {
	c := &loaded.Config
	for _, err := range flatten(c.Rotation().Validate()) {
		key := err.Param
		if k, ok := params[key]; ok {
			key = k
		}
		l.mistake(l.originOf(key), key, "%s", err.Message)
	}
	l.validateTLS(&c.Server)
	l.validateNotifiers(c)
	l.validateTopics(c)
	l.validateRejects(c)
	l.validateArchive(c)
	l.validateIngest(c)
	if request, seal := c.Limits.Request, c.Retention.Seal; request >= seal {
		const why = "a request could still write to a sealed table"
		if _, ok := loaded.Origins["limits.request"]; !ok {
			l.mistake(l.originOf("retention.seal"), "retention.seal", "%s is not longer than limits.request, %s: %s",
				timefmt.FormatDuration(seal), timefmt.FormatDuration(request), why)
		} else {
			l.mistake(l.originOf("limits.request"), "limits.request", "%s is not shorter than retention.seal, %s: %s",
				timefmt.FormatDuration(request), timefmt.FormatDuration(seal), why)
		}
	}
	slices.SortStableFunc(l.mistakes, func(a, b Mistake) int {
		return cmp.Or(compareOrigins(a.Origin, b.Origin), strings.Compare(a.Key, b.Key))
	})
}

// validateTLS requires both files or neither.
func (l *loader) validateTLS(s *Server) {
	switch {
	case s.TLSCert != "" && s.TLSKey == "":
		l.mistake(l.originOf("server.tls_cert"), "server.tls_cert", "requires server.tls_key")
	case s.TLSKey != "" && s.TLSCert == "":
		l.mistake(l.originOf("server.tls_key"), "server.tls_key", "requires server.tls_cert")
	}
}

// originOf returns the origin of a key, or of a key above or below it. If none of these was set, it
// returns "default".
func (l *loader) originOf(key string) string {
	// If key names a whole class or stream, its name may have dots.
	for _, path := range []string{pathOf(key), strings.Replace(key, ".", sep, 1)} {
		for _, at := range sortedKeys(l.origins) {
			if at == path || strings.HasPrefix(at, path+sep) {
				return l.origins[at]
			}
		}
	}
	group, _, _ := strings.Cut(key, ".")
	if origin, ok := l.origins[group]; ok {
		return origin
	}
	return "default"
}

// compareOrigins orders origins as texts. Lines of one file are in the order of their numbers.
func compareOrigins(a, b string) int {
	fa, la, _ := strings.Cut(a, ":")
	fb, lb, _ := strings.Cut(b, ":")
	if fa != fb || len(la) == len(lb) {
		return strings.Compare(a, b)
	}
	return len(la) - len(lb)
}

func flatten(err error) []*varve.Error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*varve.Error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	var e *varve.Error
	if errors.As(err, &e) {
		return []*varve.Error{e}
	}
	return []*varve.Error{{Message: err.Error()}}
}

// Changed returns the keys of the settings in which two configurations differ, in order.
func Changed(a, b *Config) []string {
	keys := append(a.keys(), b.keys()...)
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool {
		s, ok := find(key)
		return !ok || s.Get(a) == s.Get(b)
	})
}
