package config

import (
	"fmt"
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
		key, wrong := l.keyOfEnv(name, src.Flags)
		if wrong != "" {
			l.mistake(name, "", "%s", wrong)
			continue
		}
		l.add(values, pathOf(key), value, name)
	}
	l.load(values)
}

// keyOfEnv returns the key that a variable sets, or the reason why it sets none.
func (l *loader) keyOfEnv(name string, flags map[string]string) (key, wrong string) {
	for _, s := range settings {
		if EnvOf(s.key) == name {
			return s.key, ""
		}
	}
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "_")
	n := len(parts)
	if n < 3 || parts[1] == "" || parts[0] != "classes" && parts[0] != "streams" {
		return "", "configures nothing: " + suggest(strings.Join(parts, "."))
	}
	words := 1 // number of words of the setting after the name
	if n > 3 && strings.Join(parts[n-2:], "_") == "row_window" {
		words = 2
	}
	group, middle, last := parts[0], strings.Join(parts[1:n-words], "_"), strings.Join(parts[n-words:], "_")
	if _, ok := find(group + "." + middle + "." + last); !ok {
		return "", "configures nothing: " + suggest(strings.Join(parts, "."))
	}
	named, wrong := l.nameOfEnv(group, middle, last, flags)
	return group + "." + named + "." + last, wrong
}

// nameOfEnv returns the class or stream that a variable names. A variable has no dots, hyphens or
// small letters, so several names may map to it. The name is looked up among the names in the
// file and the flags. If none maps to the variable, the variable's name in small letters is used.
// For a stream, that name must not contain an underscore.
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
