// Package retention says how long readings live. Streams belong to a class;
// the streams of a class share tables, and the class's retention decides when
// those are dropped. A stream may keep its readings for a shorter time.
//
// A reading expires at max(event time, arrival) + retention: what a device
// uploads today is kept as long as anything else that arrives today, however
// old it is.
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

// Forever is the retention of what never expires.
const Forever = timefmt.Forever

// DefaultClass is the class of a stream that names none.
const DefaultClass = "default"

// Bounds of a retention: shorter ones are surely a slip, longer ones are
// written as forever.
const (
	MinRetention = time.Minute
	MaxRetention = 100 * 365 * 24 * time.Hour
)

// Class is a set of streams that share tables and their retention.
type Class struct {
	Name      string        // letters and digits
	Retention time.Duration // from MinRetention, or Forever
}

// Stream is what is configured of one stream; the zero Stream belongs to the
// default class and keeps its readings for the class's retention.
type Stream struct {
	Class     string        // "" is DefaultClass
	Retention time.Duration // 0 is the class's; never longer than it
}

// Policy maps streams to classes and classes to table prefixes. It is
// immutable once validated.
type Policy struct {
	Prefix  string            // of the default class's tables; begins all others
	Classes []Class           // DefaultClass among them
	Streams map[string]Stream // by stream name
}

// Validate reports everything that is wrong with the policy, as joined Invalid
// errors whose parameters are prefix, classes.<name>.retention,
// streams.<name>.class and the like.
func (p *Policy) Validate() error {
	var errs []error
	if err := grid.ValidatePrefix(p.Prefix); err != nil {
		errs = append(errs, varve.InvalidParam("prefix", "%s", err))
	}
	seen := map[string]bool{}
	for _, c := range p.Classes {
		if seen[c.Name] {
			errs = append(errs, varve.InvalidParam("classes."+c.Name, "is there twice"))
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
	// A wrong prefix has been reported once; a long name makes it wrong here.
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

// ClassOf returns the class into whose tables a stream is written.
func (p *Policy) ClassOf(stream string) Class {
	// A validated policy has every class that a stream names.
	c, _ := p.class(p.Streams[stream].Class)
	return c
}

// TablePrefix returns the prefix of a class's tables: the policy's own for the
// default class, else the policy's, a hyphen and the class's name.
func (p *Policy) TablePrefix(class string) string {
	if class == DefaultClass {
		return p.Prefix
	}
	return p.Prefix + "-" + class
}

// ClassOfPrefix returns the configured class whose tables have a prefix.
func (p *Policy) ClassOfPrefix(prefix string) (Class, bool) {
	for _, c := range p.Classes {
		if p.TablePrefix(c.Name) == prefix {
			return c, true
		}
	}
	return Class{}, false
}

// Keep returns how long readings of a stream live that were written into a
// class's tables: the shorter of the stream's and that class's retention. A
// stream that was moved to another class keeps what is in the old class's
// tables as long as those are kept.
func (p *Policy) Keep(stream, class string) time.Duration {
	keep := Forever
	if c, ok := p.class(class); ok {
		keep = c.Retention
	}
	if s := p.Streams[stream]; s.Retention != 0 {
		keep = min(keep, s.Retention)
	}
	return keep
}

// Cutoff returns the time that max(event time, arrival) must be after for a
// reading to be alive at now.
func Cutoff(now time.Time, keep time.Duration) time.Time {
	if keep == Forever {
		return time.Time{}
	}
	return now.Add(-keep)
}

// Add returns t + d, and the zero time for Forever: never.
func Add(t time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return t.Add(d)
}
