package rollup

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// MaxLimit is how many roll-ups a page can have, and DefaultLimit how many it
// has at most if nothing is said.
const (
	MaxLimit     = 10_000
	DefaultLimit = 1_000
)

// Query asks for the roll-ups of one series.
type Query struct {
	Series varve.Series
	Period Period
	// Window: every period that it overlaps, each as a whole.
	Window varve.Window
	Fields []string // only these; none: all
	Limit  int      // periods in a page at most; 0 is DefaultLimit
}

// Rollup is what the readings of one period add up to.
type Rollup struct {
	Start time.Time
	Partial
}

// Page is a run of roll-ups, in their order. Periods without readings are left
// out.
type Page struct {
	Rollups []Rollup
	// Next is where to go on: the beginning of the next page's window. It is zero
	// at the end. A page may be empty and not the last.
	Next time.Time
}

// Reader reads roll-ups.
type Reader struct{ records }

// NewReader returns a reader.
func NewReader(items store.Items, raw Raw, resent Resent) *Reader {
	return &Reader{records{items: items, raw: raw, resent: resent}}
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

// span returns the hours of the periods that the window overlaps.
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

// Read returns the next page: exactly what a recount of the distinct readings
// would give that are acknowledged by now.
func (r *Reader) Read(ctx context.Context, q Query) (Page, error) {
	if err := q.validate(); err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	h := q.span()
	for h.from < h.to {
		a := answer{Reader: r, q: &q, only: wantedOf(q.Fields), n: q.Period.hours(), part: h}
		if p, err := a.page(ctx); !errors.Is(err, errMoved) {
			return p, err
		}
	}
	return Page{}, nil
}

// errMoved: while hours were counted, marks came that change what counts where.
var errMoved = errors.New("marks have come meanwhile")
