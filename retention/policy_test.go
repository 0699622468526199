package retention_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/timefmt"
)

// policy returns a policy with three classes, whose retentions are a year, a week and forever.
func policy() *retention.Policy {
	return &retention.Policy{
		Prefix: "varve",
		Classes: []retention.Class{
			{Name: retention.DefaultClass, Retention: year},
			{Name: "short", Retention: 7 * day},
			{Name: "forever", Retention: retention.Forever},
		},
		Streams: map[string]retention.Stream{
			"weather": {},
			"debug":   {Class: "short", Retention: day},
			"audit":   {Class: "forever"},
			"billing": {Class: "forever", Retention: 10 * year},
			"brief":   {Retention: 30 * day},
			"named":   {Class: retention.DefaultClass},
		},
	}
}

// paramsOf returns the parameters of the Invalid errors that err joins.
func paramsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not joined", err)
	}
	var params []string
	for _, e := range joined.Unwrap() {
		var ve *varve.Error
		if !errors.As(e, &ve) || ve.Failure != varve.Invalid || ve.Message == "" {
			t.Fatalf("%v is not an Invalid error", e)
		}
		params = append(params, ve.Param)
	}
	return params
}

func TestPolicy_Validate(t *testing.T) {
	class := func(name string, keep time.Duration) func(*retention.Policy) {
		return func(p *retention.Policy) {
			p.Classes = append(p.Classes, retention.Class{Name: name, Retention: keep})
		}
	}
	stream := func(name, class string, keep time.Duration) func(*retention.Policy) {
		return func(p *retention.Policy) { p.Streams[name] = retention.Stream{Class: class, Retention: keep} }
	}
	tests := []struct {
		reason string
		change func(*retention.Policy)
		params string
	}{
		{"a good one", func(*retention.Policy) {}, ""},
		{"no streams", func(p *retention.Policy) { p.Streams = nil }, ""},
		{"no prefix", func(p *retention.Policy) { p.Prefix = "" }, "prefix"},
		{"a prefix with an underscore", func(p *retention.Policy) { p.Prefix = "a_b" }, "prefix"},
		{"no default class", func(p *retention.Policy) { p.Classes = p.Classes[1:]; p.Streams = nil }, "classes.default"},
		{"no class at all", func(p *retention.Policy) { p.Classes, p.Streams = nil, nil }, "classes.default"},
		{"a class twice", class("short", day), "classes.short"},
		{"a class without a name", class("", day), "classes."},
		{"a class with a hyphen, whose prefix could be another's", class("a-b", day), "classes.a-b"},
		{"a class with an underscore", class("a_b", day), "classes.a_b"},
		{"a class in other letters", class("é", day), "classes.é"},
		{"a class's name as long as tables allow", class(strings.Repeat("c", 64-len("varve-")), day), ""},
		{"a class's name too long for tables", class(strings.Repeat("c", 65-len("varve-")), day), "classes." + strings.Repeat("c", 65-len("varve-"))},
		{"a minute", class("x", time.Minute), ""},
		{"less than a minute", class("x", time.Minute-1), "classes.x.retention"},
		{"no retention", class("x", 0), "classes.x.retention"},
		{"a negative retention", class("x", -day), "classes.x.retention"},
		{"100 years", class("x", 100*year), ""},
		{"more than 100 years", class("x", 100*year+1), "classes.x.retention"},
		{"almost for ever", class("x", retention.Forever-1), "classes.x.retention"},
		{"a stream of an unknown class", stream("s", "nope", 0), "streams.s.class"},
		{"a stream with a bad name", stream("a/b", "", 0), "streams.a/b"},
		{"a stream as long as its class", stream("s", "short", 7*day), ""},
		{"a stream longer than its class", stream("s", "short", 7*day+1), "streams.s.retention"},
		{"a stream longer than the default class", stream("s", "", year+1), "streams.s.retention"},
		{"a stream for less than a minute", stream("s", "", time.Minute-1), "streams.s.retention"},
		{"a stream for a negative time", stream("s", "", -1), "streams.s.retention"},
		{"a stream for ever in a class for ever", stream("s", "forever", retention.Forever), ""},
		{"everything", func(p *retention.Policy) {
			*p = retention.Policy{
				Classes: []retention.Class{{Name: "a_b", Retention: day}, {Name: "x", Retention: 1}},
				Streams: map[string]retention.Stream{"z": {Class: "nope"}, "a": {Class: "x", Retention: 1}, "": {}},
			}
		}, "prefix classes.a_b classes.x.retention classes.default streams. streams.a.retention streams.z.class"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			p := policy()
			tt.change(p)
			err := p.Validate()
			if got := strings.Join(paramsOf(t, err), " "); got != tt.params {
				t.Errorf("got %q, want %q: %v", got, tt.params, err)
			}
		})
	}
}

func TestClassOf_ReturnsConfiguredClass(t *testing.T) {
	p := policy()
	for stream, want := range map[string]string{
		"weather": "default", "named": "default", "never heard of": "default", "debug": "short", "audit": "forever",
	} {
		if got := p.ClassOf(stream); got.Name != want || got.Retention == 0 {
			t.Errorf("stream %s is of class %+v, want %s", stream, got, want)
		}
	}
}

func TestTablePrefix_IdentifiesClass(t *testing.T) {
	p := policy()
	prefixes := map[string]string{"default": "varve", "short": "varve-short", "forever": "varve-forever"}
	for class, want := range prefixes {
		prefix := p.TablePrefix(class)
		if prefix != want || grid.ValidatePrefix(prefix) != nil {
			t.Errorf("class %s has the prefix %s, want %s", class, prefix, want)
		}
		if got, ok := p.ClassOfPrefix(prefix); !ok || got.Name != class {
			t.Errorf("prefix %s is of class %s, %t", prefix, got.Name, ok)
		}
	}
	for _, foreign := range []string{"", "varve-", "varve-default", "varve-gone", "varve-short-", "Varve", "other", "short"} {
		if got, ok := p.ClassOfPrefix(foreign); ok {
			t.Errorf("prefix %q is of class %s", foreign, got.Name)
		}
	}
}

// TestRetentionOf_ReturnsShorter checks that the shorter of two retentions applies. They are the retention
// of the stream and the retention of the class whose table has the reading.
func TestRetentionOf_ReturnsShorter(t *testing.T) {
	p := policy()
	tests := []struct {
		stream, class string
		want          time.Duration
	}{
		{"weather", "default", year},
		{"never heard of", "default", year},
		{"debug", "short", day},
		{"debug", "default", day},
		{"brief", "default", 30 * day},
		{"brief", "short", 7 * day}, // the class of the stream before it was moved to the default class
		{"audit", "forever", retention.Forever},
		{"audit", "default", year}, // the class of the stream before it was moved to the class named forever
		{"billing", "forever", 10 * year},
		{"billing", "short", 7 * day},
		{"weather", "no longer configured", retention.Forever},
		{"brief", "no longer configured", 30 * day},
		{"weather", "", year},
	}
	for _, tt := range tests {
		if got := p.RetentionOf(tt.stream, tt.class); got != tt.want {
			t.Errorf("stream %s in class %s is kept %s, want %s", tt.stream, tt.class, timefmt.FormatDuration(got), timefmt.FormatDuration(tt.want))
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(p.Streams)) {
		if keep, class := p.RetentionOf(stream, p.ClassOf(stream).Name), p.ClassOf(stream); keep > class.Retention {
			t.Errorf("stream %s is kept longer than its tables", stream)
		}
	}
}
