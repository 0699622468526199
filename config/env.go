package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// environ adds the layer of the environment.
func (l *loader) environ(src Source) {
	values := map[string]any{}
	for _, e := range src.Environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(others, name) {
			continue
		}
		if !isSettingVariable(name) {
			if !isInjected(name, value) {
				l.warnings = append(l.warnings, Mistake{Place: name, Message: "not a setting, ignored: " + suggestVariable(name)})
			}
			continue
		}
		key, wrong := l.keyOfEnv(name, src.Flags)
		if wrong != "" {
			l.mistake(name, "", "%s", wrong)
			continue
		}
		l.add(values, pathOf(key), value, name)
	}
	l.load(values)
}

// injected matches the variables that Kubernetes and Docker add for a service with a name such as
// varve or varve-writer.
var injected = regexp.MustCompile(`^VARVE(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// isInjected reports whether Kubernetes or Docker added a variable. The name of VARVE_PORT may also
// be a mistake of a person, so its value decides: both set an address such as tcp://10.0.0.1:8278.
func isInjected(name, value string) bool {
	return injected.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

// isSettingVariable reports whether a variable has the name of a setting. Settings of single
// classes and streams are included.
func isSettingVariable(name string) bool {
	if slices.ContainsFunc(settings, func(s setting) bool { return EnvOf(s.key) == name }) {
		return true
	}
	group, middle, last := splitVariable(name)
	_, ok := find(group + "." + middle + "." + last)
	return ok && group != ""
}

// splitVariable returns the parts of a variable for a setting of a class or stream. For any other
// variable, the parts are empty.
func splitVariable(name string) (group, middle, last string) {
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "_")
	n := len(parts)
	if n < 3 || parts[1] == "" || parts[0] != "classes" && parts[0] != "streams" {
		return "", "", ""
	}
	words := 1 // number of words of the setting, after the name
	if n > 3 && strings.Join(parts[n-2:], "_") == "row_window" {
		words = 2
	}
	return parts[0], strings.Join(parts[1:n-words], "_"), strings.Join(parts[n-words:], "_")
}

// keyOfEnv returns the key that a variable of a setting sets, or the reason why its class or stream
// is unknown.
func (l *loader) keyOfEnv(name string, flags map[string]string) (key, wrong string) {
	for _, s := range settings {
		if EnvOf(s.key) == name {
			return s.key, ""
		}
	}
	group, middle, last := splitVariable(name)
	named, wrong := l.nameOfEnv(group, middle, last, flags)
	return group + "." + named + "." + last, wrong
}

// nameOfEnv returns the class or stream that a variable names. A variable has no dots, hyphens or
// small letters, so several names may map to it. The name is looked up among the names in the file
// and the flags. If none maps to the variable, the variable's middle part in small letters is the
// name. For a stream, that part must not contain an underscore.
func (l *loader) nameOfEnv(group, middle, last string, flags map[string]string) (name, wrong string) {
	var meant []string
	for _, name := range l.names(group, flags) {
		if strings.ToLower(envName.Replace(name)) == middle {
			meant = append(meant, name)
		}
	}
	switch {
	case len(meant) == 1:
		return meant[0], ""
	case len(meant) > 1:
		return "", fmt.Sprintf("can mean %s: set it in the file, or with --set", strings.Join(meant, " or "))
	case group == "streams" && strings.Contains(middle, "_"):
		return "", fmt.Sprintf("can mean several streams, and none of them is configured: name it in the file, or use --set streams.%s.%s=…",
			strings.ReplaceAll(middle, "_", "-"), last)
	}
	return middle, ""
}

// names returns the classes or streams that the file or a flag names.
func (l *loader) names(group string, flags map[string]string) []string {
	all := map[string]bool{}
	for path := range l.places {
		if parts := strings.Split(path, sep); len(parts) > 1 && parts[0] == group {
			all[parts[1]] = true
		}
	}
	for key := range flags {
		if parts := strings.Split(pathOf(key), sep); len(parts) == 3 && parts[0] == group {
			all[parts[1]] = true
		}
	}
	return sortedKeys(all)
}

// envName replaces the characters of a name that a variable cannot contain.
var envName = strings.NewReplacer(".", "_", "-", "_")

// EnvOf returns the variable that sets a key.
func EnvOf(key string) string { return EnvPrefix + strings.ToUpper(envName.Replace(key)) }
