package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/internal/settings"
)

// environ adds the settings in environment variables as a layer.
func (l *loader) environ(src Source) {
	values := map[string]any{}
	for _, e := range src.Environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(others, name) {
			continue
		}
		if !isSettingVariable(name) {
			if !settings.IsInjected(name, value) {
				l.warnings = append(l.warnings, Mistake{Origin: name, Message: "not a setting, ignored: " + suggestVariable(name)})
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

// isSettingVariable reports whether a variable has the name of a setting. Settings of single classes,
// streams, notifiers and topics are included.
func isSettingVariable(name string) bool {
	if slices.ContainsFunc(all, func(s setting) bool { return EnvOf(s.Key) == name }) {
		return true
	}
	group, middle, last := splitVariable(name)
	_, ok := find(group + "." + middle + "." + last)
	return ok && group != ""
}

// splitVariable returns the group, the name and the setting in a variable of a class, stream, notifier or
// topic. The results "middle" and "last" are the name and the setting. For any other variable, all results
// are empty.
func splitVariable(name string) (group, middle, last string) {
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "_")
	n := len(parts)
	if n < 3 || parts[1] == "" || !slices.Contains([]string{"classes", "streams", "notifiers", "topics"}, parts[0]) {
		return "", "", ""
	}
	words := 1 // number of words at the end of the variable that name the setting
	if n > 3 && slices.Contains([]string{"row_window", "clock_policy", "secret_file", "secret_env", "time_at", "fields_at"}, strings.Join(parts[n-2:], "_")) {
		words = 2
	}
	return parts[0], strings.Join(parts[1:n-words], "_"), strings.Join(parts[n-words:], "_")
}

// keyOfEnv returns the key of the setting that an environment variable sets. The variable must have the
// name of a setting: see isSettingVariable. If it may mean several classes, streams, notifiers or topics,
// the result "wrong" describes the mistake, and the key is invalid.
func (l *loader) keyOfEnv(name string, flags map[string]string) (key, wrong string) {
	for _, s := range all {
		if EnvOf(s.Key) == name {
			return s.Key, ""
		}
	}
	group, middle, last := splitVariable(name)
	named, wrong := l.nameOfEnv(group, middle, last, flags)
	return group + "." + named + "." + last, wrong
}

// nameOfEnv returns the class, stream, notifier or topic that a variable names. A variable has no dots,
// hyphens or small letters, so several names may map to it. nameOfEnv compares it with the names in the
// file and the flags. If none maps to the variable, the variable's middle part in small letters is the
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

// names returns the names of a group, such as streams, in the file and the flags.
func (l *loader) names(group string, flags map[string]string) []string {
	all := map[string]bool{}
	for path := range l.origins {
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
