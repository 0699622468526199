package topic

import (
	"fmt"
	"strings"
	"testing"
)

func TestPattern_MatchesAndNames(t *testing.T) {
	for _, c := range []struct{ pattern, filter, topic, want string }{
		{"sensors/{device}/{stream}", "sensors/+/+", "sensors/d1/weather", "d1 weather"},
		{"sensors/{device}/{stream}", "sensors/+/+", "sensors/d1/weather/x", "no"},
		{"sensors/{device}/{stream}", "sensors/+/+", "sensors/d1", "no"},
		{"sensors/{device}/{stream}", "sensors/+/+", "sensors//weather", "no"},
		{"sensors/{device}/{stream}", "sensors/+/+", "other/d1/weather", "no"},
		{"{tenant}/{_}/{device}/up", "+/+/+/up", "acme/b/d1/up", "acme b d1"},
		{"{tenant}/{_}/{device}/up", "+/+/+/up", "acme/b/d1/down", "no"},
		{"a/{device}/#", "a/+/#", "a/d1/b/c", "d1"},
		{"a/{device}/#", "a/+/#", "a/d1", "d1"},
		{"v3/{app}@{_}/devices/{device}/up", "v3/+/devices/+/up", "v3/my@ttn/devices/eui-1/up", "my ttn eui-1"},
		{"v3/{app}@{_}/devices/{device}/up", "v3/+/devices/+/up", "v3/my/devices/eui-1/up", "no"},
		{"v3/{app}@{_}/devices/{device}/up", "v3/+/devices/+/up", "v3/@ttn/devices/eui-1/up", "no"},
		{"data/dev-{device}.json", "data/+", "data/dev-7.json", "7"},
		{"data/dev-{device}.json", "data/+", "data/dev-.json", "no"},
		{"data/dev-{device}.json", "data/+", "data/dev-7.json.json", "7.json"},
		{"plain/topic", "plain/topic", "plain/topic", ""},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Filter() != c.filter {
			t.Errorf("%s has the filter %s, want %s", c.pattern, p.Filter(), c.filter)
		}
		got := "no"
		if values, ok := p.match(c.topic); ok {
			got = strings.Join(values, " ")
		}
		if got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.pattern, c.topic, got, c.want)
		}
	}
}

func TestParsePattern_RejectsMistakes(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                  "the pattern is empty",
		"a/+/b":             "write a name in braces in place of +",
		"a/#/b":             "# only as the last level",
		"#":                 "# only as the last level",
		"a/{Device}":        "write names as {device}",
		"a/{device":         "write names as {device}",
		"a/{}":              "write names as {device}",
		"a/device}":         "a brace is not opened",
		"a/{device}}":       "a brace is not opened",
		"{device}/{device}": "name {device} occurs twice",
		"a/{x}{y}":          "separate its names by a text",
	} {
		if _, err := ParsePattern(pattern); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

// FuzzPattern checks that parsing and matching never panic, and that the values of a match rebuild
// the topic.
func FuzzPattern(f *testing.F) {
	f.Add("v3/{app}@{_}/devices/{device}/up", "v3/my@ttn/devices/eui-1/up")
	f.Add("a/{device}/#", "a/d1/b/c")
	f.Add("{a}-{b}-x{c}", "1-2-3-x4")
	f.Fuzz(func(t *testing.T, pattern, topic string) {
		p, err := ParsePattern(pattern)
		if err != nil || p.open {
			return
		}
		values, ok := p.match(topic)
		if !ok {
			return
		}
		var levels []string
		n := 0
		for _, l := range p.levels {
			text := l.prefix
			for _, part := range l.parts {
				text += values[n] + part.after
				n++
			}
			levels = append(levels, text)
		}
		if got := strings.Join(levels, "/"); got != topic {
			t.Errorf("%q matches %q as %q", pattern, topic, got)
		}
	})
}
