package rollup

import (
	"time"

	"github.com/varvedb/varve"
)

// Limits of the number of roll-ups in a page.
const (
	MaxLimit     = 10_000 // the largest number of roll-ups in a page
	DefaultLimit = 1_000  // the limit of a query whose limit is 0
	// pageBytes is the size of stored items at which a page gets no further period. It has room for
	// MaxLimit periods of a few fields. In memory, an item needs about three times its size. pageBytes is
	// also the size of recounted partials in memory at which a page gets no further day.
	pageBytes = 16 << 20
)

// Query selects roll-ups of one series.
type Query struct {
	Series varve.Series
	Period Period
	Window varve.Window // every period that overlaps the window is included as a whole
	Fields []string     // names of the fields to return; if empty, all fields
	Limit  int          // the largest number of periods in a page; 0 means DefaultLimit
	// AsOf, if set, excludes readings that arrived later. It must not be in the future.
	AsOf time.Time
}

// Rollup is the aggregate of the readings of one period.
type Rollup struct {
	Start time.Time
	Partial
}

// Page is a list of roll-ups, in order. Periods without readings have no roll-up. If roll-ups have many
// fields, a page has fewer periods than the limit allows. Callers must not change the list, because the
// reader may return it again.
type Page struct {
	Rollups []Rollup
	// Next is where the window of the next page begins. It is zero on the last page. A page may
	// be empty even if it is not the last one.
	Next time.Time
}

func (q *Query) validate() error {
	if v := q.Series.Validate(); v.Outcome == varve.Rejected {
		param := "device"
		if v.Code == varve.CodeStreamInvalid {
			param = "stream"
		}
		return varve.InvalidParam(param, "%s", v.Message)
	}
	if q.Period != Hourly && q.Period != Daily {
		return varve.InvalidParam("period", "is missing: use hourly or daily")
	}
	if err := q.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return varve.InvalidParam("limit", "%d is not from 1 to %d", q.Limit, MaxLimit)
	}
	return nil
}

// span returns the hours of all periods that overlap the window.
func (q *Query) span() span {
	all := varve.AllTime()
	from, to := q.Window.From, q.Window.To
	if from.Before(all.From) {
		from = all.From
	}
	if to.After(all.To) {
		to = all.To
	}
	if !from.Before(to) {
		return span{}
	}
	n := q.Period.hours()
	last := hourOf(to.Add(-1).Unix())
	return span{hourOf(from.Unix()) / n * n, (last/n + 1) * n}
}
