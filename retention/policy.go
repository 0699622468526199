// Package retention defines how long readings live.
//
//	stream ──▶ Class ──▶ table prefix
//	   │         │
//	   └─────────┴─ retention: the shorter of both
//
// The main types and functions:
//
//   - [Class] is a group of streams that share tables and a maximum retention.
//   - [Stream] is the configuration of one stream, which may have a shorter retention.
//   - [Policy] maps streams to classes, and classes to table prefixes.
//   - [Cutoff] returns the time at or before which readings have expired.
//
// These rules always hold:
//
//   - A reading expires at max(event time, arrival) + retention. So a reading lives at least for
//     the retention after its arrival, whatever its event time.
//   - The retention of a stream is never longer than the retention of its class. So the end of a
//     table depends on its class alone.
//
// [Policy.Validate] checks the prefix, all classes and all streams, and joins its errors, each with its
// parameter. Other functions need a valid policy and cannot fail. The package does no I/O and reads no
// clock. A validated policy must not be changed, so goroutines may share it.
package retention

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/timefmt"
)

// Forever is the retention of readings that never expire.
const Forever = timefmt.Forever

// DefaultClass is the class of all streams for which no class is configured.
const DefaultClass = "default"

// MinRetention and MaxRetention limit a retention. A shorter one is a mistake. A longer one must
// be given as forever.
const (
	MinRetention = time.Minute
	MaxRetention = 100 * 365 * 24 * time.Hour
)

// Class is a set of streams that share tables and have the same maximum retention.
type Class struct {
	Name      string        // letters and digits; part of the table prefix, except for the default class
	Retention time.Duration // at least MinRetention, or Forever
}

// Stream is the configuration of one stream. The zero Stream is in the default class and has the
// retention of that class.
type Stream struct {
	Class     string        // "" means DefaultClass
	Retention time.Duration // at most the retention of the class; 0 means the retention of the class
}

// Policy maps streams to classes, and classes to table prefixes. It must not be changed after
// validation.
type Policy struct {
	Prefix  string            // prefix of the default class's tables; all other prefixes begin with it
	Classes []Class           // must include the class with the name DefaultClass
	Streams map[string]Stream // by stream name
}

// Validate returns an error that joins the Invalid errors of all classes and streams and of the prefix. Of
// several violations in one of them, it may report only the first. The parameters of the errors are prefix,
// classes.<name>.retention, streams.<name>.class and similar.
func (p *Policy) Validate() error {
	var errs []error
	if err := grid.ValidatePrefix(p.Prefix); err != nil {
		errs = append(errs, varve.InvalidParam("prefix", "%s", err))
	}
	seen := map[string]bool{}
	for _, c := range p.Classes {
		if seen[c.Name] {
			errs = append(errs, varve.InvalidParam("classes."+c.Name, "is configured twice"))
		}
		seen[c.Name] = true
		if err := c.validate(p); err != nil {
			errs = append(errs, err)
		}
	}
	if !seen[DefaultClass] {
		errs = append(errs, varve.InvalidParam("classes."+DefaultClass, "is missing"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Streams)) {
		if err := p.validateStream(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c Class) validate(p *Policy) error {
	at := "classes." + c.Name
	for i := range len(c.Name) {
		if b := c.Name[i]; b-'0' > 9 && b|0x20-'a' > 25 {
			return varve.InvalidParam(at, "a class is named with letters and digits")
		}
	}
	if c.Name == "" {
		return varve.InvalidParam(at, "a class has no name")
	}
	// Policy.Validate checks the prefix of the policy. This check finds a class name that makes the
	// prefix of its tables too long.
	if prefix := p.TablePrefix(c.Name); len(prefix) > grid.MaxPrefix {
		return varve.InvalidParam(at, "the prefix of its tables, %s, has %d characters, the limit is %d", prefix, len(prefix), grid.MaxPrefix)
	}
	if c.Retention != Forever && (c.Retention < MinRetention || c.Retention > MaxRetention) {
		return varve.InvalidParam(at+".retention", "%s is not from %s to %s, or forever",
			timefmt.FormatDuration(c.Retention), timefmt.FormatDuration(MinRetention), timefmt.FormatDuration(MaxRetention))
	}
	return nil
}

func (p *Policy) validateStream(name string) error {
	at := "streams." + name
	if err := varve.ValidateName("stream", name); err != nil {
		return varve.InvalidParam(at, "%s", err)
	}
	s := p.Streams[name]
	class, ok := p.class(s.Class)
	switch {
	case !ok:
		return varve.InvalidParam(at+".class", "%q is not configured: use one of %s", s.Class, strings.Join(p.classNames(), ", "))
	case s.Retention == 0:
		return nil
	case s.Retention < MinRetention:
		return varve.InvalidParam(at+".retention", "%s is shorter than %s", timefmt.FormatDuration(s.Retention), timefmt.FormatDuration(MinRetention))
	case s.Retention > class.Retention:
		return varve.InvalidParam(at+".retention", "%s is longer than the %s of class %s: put the stream into a class that keeps readings as long",
			timefmt.FormatDuration(s.Retention), timefmt.FormatDuration(class.Retention), class.Name)
	}
	return nil
}

func (p *Policy) class(name string) (Class, bool) {
	if name == "" {
		name = DefaultClass
	}
	i := slices.IndexFunc(p.Classes, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return p.Classes[i], true
}

func (p *Policy) classNames() []string {
	names := make([]string, len(p.Classes))
	for i, c := range p.Classes {
		names[i] = c.Name
	}
	return names
}

// ClassOf returns the class to whose tables a stream is written.
func (p *Policy) ClassOf(stream string) Class {
	// A validated policy has every class that its streams name.
	c, _ := p.class(p.Streams[stream].Class)
	return c
}

// TablePrefix returns the prefix of a class's tables. It is the prefix of the policy. For all
// classes except the default class, a hyphen and the class name follow.
func (p *Policy) TablePrefix(class string) string {
	if class == DefaultClass {
		return p.Prefix
	}
	return p.Prefix + "-" + class
}

// ClassOfPrefix returns the class whose tables have the given prefix. It returns false if no such
// class is configured.
func (p *Policy) ClassOfPrefix(prefix string) (Class, bool) {
	for _, c := range p.Classes {
		if p.TablePrefix(c.Name) == prefix {
			return c, true
		}
	}
	return Class{}, false
}

// RetentionOf returns the retention of a stream's readings in the tables of a class.
//
// It is the shorter of the retention of the stream and the retention of the class. After a stream
// moves to another class, its readings in tables of the old class still have at most the
// retention of the old class.
func (p *Policy) RetentionOf(stream, class string) time.Duration {
	d := Forever
	if c, ok := p.class(class); ok {
		d = c.Retention
	}
	if s := p.Streams[stream]; s.Retention != 0 {
		d = min(d, s.Retention)
	}
	return d
}

// ShortestOf returns the shortest retention of any stream's readings in the tables of a class.
func (p *Policy) ShortestOf(class string) time.Duration {
	d := p.RetentionOf("", class)
	for stream := range p.Streams {
		d = min(d, p.RetentionOf(stream, class))
	}
	return d
}

// Cutoff returns the cutoff of a retention. A reading has expired if neither its event time nor its
// arrival is after the cutoff. For Forever, Cutoff returns the zero time.
func Cutoff(now time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return now.Add(-d)
}

// Add returns t + d. For Forever, it returns the zero time, which means never.
func Add(t time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return t.Add(d)
}
