package config

import (
	"slices"
	"strings"
)

// suggest returns the remedy for a key that is not a setting.
func suggest(key string) string {
	if best := closest(key); best != "" {
		return "did you mean " + best + "?"
	}
	return listsAll
}

// suggestVariable returns the remedy for a variable that is not a setting.
func suggestVariable(name string) string {
	key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "_", ".")
	best := ""
	if setting, ok := flagVariables[name]; ok {
		best = EnvOf(setting)
	} else if i := slices.IndexFunc(others, func(other string) bool { return distance(name, other) == 1 }); i >= 0 {
		best = others[i]
	} else if setting := closest(key); setting != "" {
		best = EnvOf(setting)
	}
	if best == "" {
		return listsAll
	}
	return "did you mean " + best + "?"
}

const listsAll = "varve config print lists all settings"

// synonyms maps words that other programs use for settings to Varve's words.
var synonyms = map[string]string{
	"port": "listen", "address": "listen", "addr": "listen", "bind": "listen",
	"data": "dir", "folder": "dir", "path": "dir", "loglevel": "level",
}

// closest returns the setting that a key most likely means. If none is similar, it returns "".
func closest(key string) string {
	candidates := candidatesFor(key)
	meant := key
	dot := strings.LastIndexByte(key, '.')
	if word, ok := synonyms[key[dot+1:]]; ok {
		meant = key[:dot+1] + word
	}
	ends := func(s string) bool { return strings.HasSuffix(s, "."+meant) }
	if key == "classes.retention" {
		return candidates[0]
	}
	switch i := slices.IndexFunc(candidates, ends); {
	case slices.Contains(candidates, meant):
		return meant
	case dot < 0 && i >= 0 && (strings.HasPrefix(candidates[i], "server.") || !slices.ContainsFunc(candidates[i+1:], ends)):
		return candidates[i]
	}
	best, least := "", len(key)
	for _, c := range candidates {
		if d := distance(dotted(key), dotted(c)); d < least && d <= tolerance(key, c) {
			best, least = c, d
		}
	}
	return best
}

// tolerance returns the greatest distance at which two keys are similar. For keys of one group, it
// depends only on the part after the group. So server.port is not similar to server.hosts.
func tolerance(key, setting string) int {
	group, rest, ok := strings.Cut(key, ".")
	if of, _, _ := strings.Cut(setting, "."); ok && of == group {
		return len(rest) / 2
	}
	return len(key) / 3
}

// dotted replaces the underscores of a key with dots. In the name of a variable, an underscore can
// stand for either of them.
func dotted(key string) string { return strings.ReplaceAll(key, "_", ".") }

// candidatesFor returns the settings that a key can mean, including settings of its class, stream, topic
// or notifier.
func candidatesFor(key string) (candidates []string) {
	for _, s := range all {
		candidates = append(candidates, s.Key)
	}
	group, rest, _ := strings.Cut(key, ".")
	if group+"."+rest == "classes.retention" {
		return []string{"classes.default.retention"}
	}
	candidates = append(candidates, "classes.default.retention")
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return candidates
	}
	name := rest[:dot]
	candidates = append(candidates, "classes."+name+".retention")
	for _, what := range sortedKeys(streamSettings(name)) {
		candidates = append(candidates, "streams."+name+"."+what)
	}
	for _, what := range sortedKeys(topicSettings(name)) {
		candidates = append(candidates, "topics."+name+"."+what)
	}
	for _, what := range sortedKeys(notifierSettings(name)) {
		candidates = append(candidates, "notifiers."+name+"."+what)
	}
	return candidates
}

// distance returns the smallest number of letters to insert, delete or replace to turn a into b: the
// Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
