package topic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/internal/quote"
)

// anyName is the name of parts that are ignored.
const anyName = "_"

// Pattern matches topics and names their parts.
//
// Slashes separate the levels of a topic. A name in braces matches a non-empty part of a level, as in
// v3/{app}@{tenant}/up. The part with the name _ is ignored. The last level may be #, which matches zero
// or more further levels.
type Pattern struct {
	text   string
	levels []level
	open   bool     // if true, the pattern ends with the level #, which levels does not include
	names  []string // names of all parts in order, including _
}

// level is one level of a pattern: a prefix, which may be empty, and parts. Each part is a name and the
// text after it.
type level struct {
	prefix string
	parts  []part
}

type part struct{ name, after string }

// ParsePattern parses a pattern.
func ParsePattern(text string) (*Pattern, error) {
	if text == "" {
		return nil, fmt.Errorf("the pattern is empty: write one, as in sensors/{device}/{stream}")
	}
	p := &Pattern{text: text}
	all := strings.Split(text, "/")
	for i, l := range all {
		if l == "#" && i == len(all)-1 && i > 0 {
			p.open = true
			break
		}
		parsed, err := p.parseLevel(l)
		if err != nil {
			return nil, err
		}
		p.levels = append(p.levels, parsed)
	}
	return p, nil
}

func (p *Pattern) parseLevel(text string) (l level, err error) {
	if strings.ContainsAny(text, "+#") {
		return l, fmt.Errorf("level %s: write a name in braces in place of +, and # only as the last level after another level", quote.Text(text))
	}
	prefix, rest, named := strings.Cut(text, "{")
	l.prefix = prefix
	for named {
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !isName(name) {
			return l, fmt.Errorf("level %s: write names as {device}, of small letters, digits and _", quote.Text(text))
		}
		if name != anyName && slices.Contains(p.names, name) {
			return l, fmt.Errorf("name {%s} occurs twice: rename one, or write {_}", name)
		}
		p.names = append(p.names, name)
		var literal string
		literal, rest, named = strings.Cut(after, "{")
		if named && literal == "" {
			return l, fmt.Errorf("level %s: separate its names by a text", quote.Text(text))
		}
		l.parts = append(l.parts, part{name, literal})
	}
	if strings.Contains(prefix, "}") || len(l.parts) > 0 && strings.Contains(l.parts[len(l.parts)-1].after, "}") {
		return l, fmt.Errorf("level %s: a brace is not opened", quote.Text(text))
	}
	return l, nil
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// String returns the text of the pattern.
func (p *Pattern) String() string { return p.text }

// Filter returns the topic filter of MQTT for a subscription to all topics that match the pattern.
func (p *Pattern) Filter() string {
	all := make([]string, 0, len(p.levels)+1)
	for _, l := range p.levels {
		if len(l.parts) > 0 {
			all = append(all, "+")
		} else {
			all = append(all, l.prefix)
		}
	}
	if p.open {
		all = append(all, "#")
	}
	return strings.Join(all, "/")
}

// match returns the texts of the pattern's names in a topic, or false if the topic does not match.
func (p *Pattern) match(topic string) (values []string, ok bool) {
	values = make([]string, 0, len(p.names))
	more := true
	for _, l := range p.levels {
		if !more {
			return nil, false
		}
		var text string
		if text, topic, more = strings.Cut(topic, "/"); !l.match(text, &values) {
			return nil, false
		}
	}
	return values, !more || p.open
}

func (l *level) match(text string, values *[]string) bool {
	rest, ok := strings.CutPrefix(text, l.prefix)
	if !ok || len(l.parts) == 0 {
		return ok && rest == ""
	}
	for i, p := range l.parts {
		at := len(rest) - len(p.after)
		if i < len(l.parts)-1 {
			at = strings.Index(rest, p.after)
		}
		if at <= 0 || rest[at:at+len(p.after)] != p.after {
			return false
		}
		*values = append(*values, rest[:at])
		rest = rest[at+len(p.after):]
	}
	return true
}

// template is a text with names in braces, as in {site}-{sensor}.
type template struct{ parts []part } // the first part has only text, and no name

func parseTemplate(text string, known []string) (t template, err error) {
	literal, rest, named := strings.Cut(text, "{")
	t.parts = []part{{"", literal}}
	for named {
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return t, fmt.Errorf("%s: a brace is not closed", quote.Text(text))
		}
		if !slices.Contains(known, name) || name == anyName {
			return t, fmt.Errorf("the pattern has no name {%s}: use a name of the pattern", name)
		}
		literal, rest, named = strings.Cut(after, "{")
		t.parts = append(t.parts, part{name, literal})
	}
	return t, nil
}

// expand returns the text with each name replaced by its value.
func (t *template) expand(value func(string) string) string {
	if len(t.parts) == 2 && t.parts[0].after == "" && t.parts[1].after == "" {
		return value(t.parts[1].name)
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.name != "" {
			b.WriteString(value(p.name))
		}
		b.WriteString(p.after)
	}
	return b.String()
}
