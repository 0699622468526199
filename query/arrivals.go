package query

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve"
)

// ArrivalQuery selects the readings of one series that first arrived in a range of time.
type ArrivalQuery struct {
	Series varve.Series
	Window varve.Window    // window of event times
	After  *varve.Position // if set, only readings after this position are passed
	// From and To limit the first arrival: From <= arrival < To.
	From, To time.Time
}

// errEnough ends a scan early.
var errEnough = errors.New("no further readings are wanted")

// ScanArrivals passes the readings of a query to a function, in the order of their positions. It ends
// if the function returns false. Each reading is valid only until the function returns.
//
// Each version counts as a separate reading. Of several copies of a reading, only the copy that
// arrived first counts. If that copy has expired, the reading is not passed. ScanArrivals finds
// every reading that was acknowledged before the call.
func (e *Engine) ScanArrivals(ctx context.Context, q ArrivalQuery, scan func(*varve.Reading) bool) error {
	rows, err := e.Open(ctx, Query{
		Series: q.Series, Window: q.Window, After: q.After, Consistent: true, Expired: true, Versions: true,
		AsOf: q.To.Add(-time.Millisecond), byArrival: true,
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	s := arrivalScan{rows: rows, from: q.From.UnixMilli(), to: q.To.UnixMilli(), scan: scan}
	for {
		rows.releasePage()
		first, err := rows.tables.nextSource(ctx, wanted{left: -1, columns: true})
		if err != nil || first == nil {
			return err
		}
		if err := s.scanNext(first); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
}

type arrivalScan struct {
	rows     *Rows
	from, to int64 // bounds of a reading's first arrival, in milliseconds since 1970
	scan     func(*varve.Reading) bool
	reading  varve.Reading
}

// scanNext scans the next readings. The argument "first" is the source with the earliest unread reading.
func (s *arrivalScan) scanNext(first *source) error {
	switch {
	case len(first.parts) > 0:
		expiry := first.expiry
		s.rows.emitParts(first)
		for i := range s.rows.parts {
			p := &s.rows.parts[i]
			for k := range p.Len() {
				row := p.Row(k)
				if at := p.Arrived[row]; at < s.from || at >= s.to {
					continue
				}
				p.Fill(row, &s.reading)
				if err := s.consider(&s.reading, expiry); err != nil {
					return err
				}
			}
		}
	case s.rows.tables.isAlone(first):
		page := first.page
		first.page = nil
		for i := range page {
			if err := s.consider(&page[i], first.expiry); err != nil {
				return err
			}
		}
	default:
		return s.consider(s.rows.tables.takeEarliest(first))
	}
	return nil
}

// consider passes the first copy of a reading to scan, if it arrived in the range and is alive.
func (s *arrivalScan) consider(r *varve.Reading, expiry time.Time) error {
	if at := r.Arrived.UnixMilli(); at < s.from || at >= s.to || !r.Alive(expiry) {
		return nil
	}
	if !s.scan(r) {
		return errEnough
	}
	return nil
}

// takeEarliest removes the current reading of a source from all sources. It returns the copy that
// arrived first, and planned.expiry of its table.
func (m *merger) takeEarliest(first *source) (pick *varve.Reading, expiry time.Time) {
	at := first.page[0].Position()
	for _, s := range m.sources {
		if len(s.page) == 0 || s.page[0].Position() != at {
			continue
		}
		if c := &s.page[0]; pick == nil || c.Arrived.Before(pick.Arrived) {
			pick, expiry = c, s.expiry
		}
		s.page = s.page[1:]
	}
	return pick, expiry
}
