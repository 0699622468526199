package reconcile

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
)

// MaxPeriods is the largest number of periods in an answer or a request.
const MaxPeriods = 100_000

// Query selects the periods of a series. If the window begins or ends within a period, only the readings
// inside the window count.
type Query struct {
	Series varve.Series
	Window varve.Window
	Period rollup.Period
}

// Count is the number and the digest of the readings of one period.
type Count struct {
	Start    time.Time
	Readings int64
	Digest   Digest
}

// Answer has the periods with readings, in order.
type Answer struct {
	Periods []Count
	Total   Count
	// CompleteFrom is the event time from which no reading has expired. Earlier readings may be
	// missing.
	CompleteFrom time.Time
}

// Reader computes digests of stored readings.
type Reader struct {
	Readings *query.Engine
	// InTurn, if set, is called for each part of an answer. It must call the function "read", which
	// reads the part from the store. It can limit concurrent reads.
	InTurn func(ctx context.Context, read func() error) error
	// Erased, if set, returns the event times for which readings of a series were erased on purpose.
	Erased func(context.Context, varve.Series) ([]varve.Window, error)
}

// Read returns the digests of all distinct readings that were acknowledged before the call and have not
// expired. Each version of a reading counts as a reading of its own.
func (r *Reader) Read(ctx context.Context, q Query) (*Answer, error) {
	rows, err := r.Readings.Open(ctx, query.Query{Series: q.Series, Window: q.Window, Consistent: true, Versions: true})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := &adder{period: q.Period, answer: Answer{Total: Count{Start: q.Window.From}, CompleteFrom: rows.CompleteFrom()}}
	for more := true; more; {
		read := func() error {
			part, err := rows.NextPart(ctx)
			if err != nil {
				return err
			}
			more = !part.IsEnd()
			for i := range part.Columns {
				a.addColumns(&part.Columns[i])
			}
			for i := range part.Readings {
				a.add(part.Readings[i].Position())
			}
			return nil
		}
		if r.InTurn == nil {
			err = read()
		} else {
			err = r.InTurn(ctx, read)
		}
		if err == nil && len(a.answer.Periods) > MaxPeriods {
			err = varve.InvalidParam("from", "more than %d periods: use a shorter window, or period=daily", MaxPeriods)
		}
		if err != nil {
			return nil, err
		}
	}
	return &a.answer, nil
}

// adder adds readings in the order of their event times.
type adder struct {
	period rollup.Period
	answer Answer
	end    int64 // end of the last period, in seconds since 1970; in nanoseconds, it could overflow
	forms  block.Forms
}

func (a *adder) add(p varve.Position) {
	sec := p.Time / int64(time.Second)
	if n := len(a.answer.Periods); n == 0 || sec >= a.end {
		start := startOf(a.period, sec)
		a.end = start + secondsOf(a.period)
		a.answer.Periods = append(a.answer.Periods, Count{Start: time.Unix(start, 0).UTC()})
	}
	hash := HashOf(p)
	for _, c := range []*Count{&a.answer.Periods[len(a.answer.Periods)-1], &a.answer.Total} {
		c.Readings++
		c.Digest.Add(hash)
	}
}

func (a *adder) addColumns(p *block.Part) {
	a.forms.Reset(p.Block)
	for k, id := range a.forms.IDs(p, 0, p.Len()) {
		a.add(varve.Position{Time: p.Times[p.Row(k)], ID: id})
	}
}
