package config

import (
	"strings"
)

// Mistakes lists all mistakes in a configuration.
type Mistakes []Mistake

// Mistake is a single mistake, with its origin and key.
type Mistake struct {
	Origin  string // a file and a line, a variable, or a flag
	Key     string // "" if the mistake does not concern a single setting
	Message string
}

func (m Mistake) String() string {
	s := m.Origin
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
