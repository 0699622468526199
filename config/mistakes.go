package config

import (
	"strings"
)

// Mistakes lists all mistakes in a configuration.
type Mistakes []Mistake

// Mistake is a single mistake, with its place and key.
type Mistake struct {
	Place   string // a file and a line, a variable, or a flag
	Key     string // "" if the mistake concerns a whole file
	Message string
}

func (m Mistake) String() string {
	s := m.Place
	if m.Key != "" {
		s += ": " + m.Key
	}
	return s + ": " + m.Message
}

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, mistake := range m {
		lines[i] = mistake.String()
	}
	return strings.Join(lines, "\n")
}

// suggest names the setting that is most similar to a key.
func suggest(key string) string {
	best, least := "", len(key)/2+1
	for _, s := range settings {
		if d := distance(key, s.key); d < least {
			best, least = s.key, d
		}
	}
	if best == "" {
		return "varve config print lists them"
	}
	return "did you mean " + best + "?"
}

// distance returns the Levenshtein distance of two texts: the number of bytes to insert, delete
// or replace in a to get b.
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
