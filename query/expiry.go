package query

import (
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/timefmt"
)

// Expiry is the part of a window whose readings have expired. A reading with an event time in that
// part is alive only if it arrived less than the retention ago.
type Expiry struct {
	From      time.Time `json:"from" doc:"beginning of the expired part of the window"`
	To        time.Time `json:"to" doc:"end of the expired part; readings that happened and arrived before it have expired"`
	Retention string    `json:"retention" doc:"how long a reading lives after the later of its event time and its arrival"`
	Rule      string    `json:"rule" doc:"the setting that limits the retention"`
	Tables    int       `json:"tables" doc:"existing tables of the window in which everything has expired"`
	Readings  int       `json:"readings,omitempty" doc:"expired readings of this page that were left out, up to its last reading; those in expired tables are not counted"`
}

// rule is the retention of a series in the tables of a class. The name is a sentence about the setting
// that determines it, such as "class default keeps readings for 1w".
type rule struct {
	keep time.Duration
	name string
}

// ruleOf returns the retention of a stream in a class, and the setting that determines it. The
// argument "most" is the maximum retention of the device.
func ruleOf(p *retention.Policy, stream, class string, most time.Duration) rule {
	r := rule{p.RetentionOf(stream, class), "class " + class}
	if own := p.Streams[stream].Retention; own != 0 && own == r.keep {
		r.name = "stream " + stream
	}
	if most < r.keep {
		r = rule{most, "the device"}
	}
	r.name = fmt.Sprintf("%s keeps readings for %s", r.name, timefmt.FormatDuration(r.keep))
	if r.keep == retention.Forever {
		r.name = "class " + class + " keeps readings forever"
	}
	return r
}

// expiryOf returns the expired part of a window, or nil if no reading in it can have expired.
func expiryOf(w varve.Window, r rule, now time.Time, tables int) *Expiry {
	to := retention.Cutoff(now, r.keep)
	if to.After(w.To) {
		to = w.To
	}
	if !to.After(w.From) {
		return nil
	}
	return &Expiry{From: w.From, To: to.UTC().Truncate(time.Millisecond), Retention: timefmt.FormatDuration(r.keep), Rule: r.name, Tables: tables}
}

// reported returns the expiry for the coverage of an answer, with the number of expired readings
// that were left out. It returns nil if the window begins with 1970, the answer has readings, and
// no expired readings or tables were left out.
func (x *Expiry) reported(readings int, hasReadings bool) *Expiry {
	if x == nil || hasReadings && readings == 0 && x.Tables == 0 && x.From.Equal(varve.AllTime().From) {
		return nil
	}
	c := *x
	c.Readings = readings
	return &c
}

// Merge returns the expiry of two answers: the part in which the readings of both have expired. If
// one of them is nil, it returns the other.
func (x *Expiry) Merge(y *Expiry) *Expiry {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	c := *x
	if y.To.Before(x.To) {
		c = *y
	}
	c.Tables, c.Readings = max(x.Tables, y.Tables), x.Readings+y.Readings
	return &c
}
