package arrivals

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
)

// Minutes is the number of complete minutes that a report has, before the current one.
const Minutes = 60

const (
	// maxStreams limits the streams that are counted one by one, over all tenants. Readings of a tenant's
	// further streams are counted together, under the name "".
	maxStreams = 1000
	// maxTenants limits the counted tenants. Readings of further tenants are not counted.
	maxTenants = 10_000
	// maxRejectedTenants is the number of tenants at which rejected readings no longer add tenants. A topic of
	// MQTT can give a rejected reading any tenant, so other tenants must have room.
	maxRejectedTenants = maxTenants / 2
)

// bounds are the upper bounds of the lag, exclusive. A lag below the first bound means that the event
// time is after the arrival.
var bounds = []time.Duration{
	0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
	7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// Bounds returns the upper bounds of the lag, exclusive. Lags at the last bound or above have a count
// of their own.
func Bounds() []time.Duration { return slices.Clone(bounds) }

// Counts are numbers of readings by verdict.
type Counts struct{ Stored, Duplicates, Rejected int64 }

func (c *Counts) add(o varve.Outcome) {
	switch o {
	case varve.Stored:
		c.Stored++
	case varve.Duplicate:
		c.Duplicates++
	case varve.Rejected:
		c.Rejected++
	default: // a queued reading is counted by the server that stores it
	}
}

// Minute has the counts of the minute that begins at At.
type Minute struct {
	At time.Time
	Counts
}

// Stream has the counts of one stream.
type Stream struct {
	Name string // "" stands for all streams that are not counted one by one
	Counts
	// Lag counts the stored readings by lag. Each reading counts once, at the first i for which its
	// lag is below Bounds()[i]. The last element counts the readings at or above the last bound.
	Lag []int64
}

// Report has the counts of one tenant.
type Report struct {
	Since   time.Time // the start of counting
	Minutes []Minute  // oldest first; the last one is not over yet
	Streams []Stream  // ordered by name
}

// Counter counts the readings of each tenant by verdict, per minute and per stream. For each stream,
// it also counts the stored readings by lag. It is safe for concurrent use.
type Counter struct {
	now   func() time.Time
	since time.Time

	mu      sync.Mutex
	tenants map[string]*tenant
	streams int // number of streams of all tenants, without the name ""
}

type tenant struct {
	minutes [Minutes + 1]Minute // minute m since 1970 has the index m % len(minutes)
	streams map[string]*Stream
}

// New returns a counter. The function "now" returns the current time.
func New(now func() time.Time) *Counter {
	return &Counter{now: now, since: now(), tenants: map[string]*tenant{}}
}

// Add counts readings with their verdicts. Readings without a verdict are not counted.
func (c *Counter) Add(readings []varve.Reading, verdicts []varve.Verdict) {
	minute := c.now().UTC().Truncate(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	var last *varve.Reading // the previous counted reading, whose tenant and stream t and s stand for
	var t *tenant
	var m *Minute
	var s *Stream
	for i := range readings {
		r, outcome := &readings[i], verdicts[i].Outcome
		if outcome == 0 {
			continue
		}
		if last == nil || r.Tenant != last.Tenant {
			if t, s, last = c.tenant(r.Tenant, outcome == varve.Rejected), nil, nil; t == nil {
				continue
			}
			m = t.minute(minute)
		}
		if s == nil || r.Stream != last.Stream {
			s = c.stream(t, r.Stream, outcome == varve.Rejected)
		}
		last = r
		m.add(outcome)
		s.add(outcome)
		if outcome == varve.Stored {
			s.Lag[lagIndex(r.Arrived.Sub(r.Time))]++
		}
		if s.Name == "" {
			s = nil // look the stream up again: the next reading may be its first one that is not rejected
		}
	}
}

// tenant returns the counts of a tenant, and adds the tenant if it is missing. Beyond the limit of tenants,
// it returns nil.
func (c *Counter) tenant(name string, rejected bool) *tenant {
	t, limit := c.tenants[name], maxTenants
	if rejected {
		limit = maxRejectedTenants
	}
	if t == nil && len(c.tenants) < limit {
		t = &tenant{streams: map[string]*Stream{}}
		c.tenants[name] = t
	}
	return t
}

// stream returns the counts of a stream, and adds the stream if it is missing. A rejected reading adds no
// stream, because its stream may be any text. Beyond the limit of streams, no stream is added either. For
// a stream that is not added, the function returns the counts of the name "".
func (c *Counter) stream(t *tenant, name string, rejected bool) *Stream {
	if s := t.streams[name]; s != nil {
		return s
	}
	if rejected || c.streams >= maxStreams {
		name = ""
	}
	s := t.streams[name]
	if s == nil {
		s = &Stream{Name: name, Lag: make([]int64, len(bounds)+1)}
		t.streams[name] = s
		if name != "" {
			c.streams++
		}
	}
	return s
}

func (t *tenant) minute(at time.Time) *Minute {
	m := &t.minutes[at.Unix()/60%int64(len(t.minutes))]
	if !m.At.Equal(at) {
		*m = Minute{At: at}
	}
	return m
}

// lagIndex returns the index of a lag in Stream.Lag.
func lagIndex(lag time.Duration) int {
	for i, bound := range bounds {
		if lag < bound {
			return i
		}
	}
	return len(bounds)
}

// Report returns the counts of a tenant.
func (c *Counter) Report(name string) Report {
	current := c.now().UTC().Truncate(time.Minute)
	report := Report{Since: c.since, Minutes: make([]Minute, 0, Minutes+1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[name]
	for ago := Minutes; ago >= 0; ago-- {
		at := current.Add(-time.Duration(ago) * time.Minute)
		m := Minute{At: at}
		if t != nil {
			if counted := t.minutes[at.Unix()/60%(Minutes+1)]; counted.At.Equal(at) {
				m = counted
			}
		}
		report.Minutes = append(report.Minutes, m)
	}
	if t == nil {
		return report
	}
	for _, s := range t.streams {
		one := *s
		one.Lag = slices.Clone(s.Lag)
		report.Streams = append(report.Streams, one)
	}
	slices.SortFunc(report.Streams, func(a, b Stream) int { return strings.Compare(a.Name, b.Name) })
	return report
}
