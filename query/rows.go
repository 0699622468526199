package query

import (
	"context"
	"math"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/store"
)

const (
	// batch limits the readings that Next collects. A page of a single table may be larger.
	batch = 1024
	// batchBytes is the approximate maximum size of a batch.
	batchBytes = 1 << 20
)

// Rows yields the readings of a query page by page. Only one goroutine may use it.
//
//	Rows       limit, expiry, columns or readings
//	selection  the filter Where
//	merger     tables in order, copies of one reading together
//	pager      pages of one table
type Rows struct {
	q            Query
	tables       merger
	where        selection
	columns      bool            // the caller uses NextPart
	left         int             // number of readings that may still be returned; -1 means no limit
	out          []varve.Reading // copied readings that Next returns
	size         int             // size of out in bytes
	parts        []block.Part    // columns that NextPart returns
	release      []func()        // functions that release the memory of returned parts
	last         varve.Position  // position of the last reading that was returned; after columns, only if they reach the limit
	returned     bool            // some readings were returned
	mayContinue  bool            // more readings may follow in this answer
	limitReached bool            // the limit or the scan limit ended the answer
	expired      expiredCount
	err          error // the error that ended the answer
}

// afterVersions returns a position that no version of the reading follows in the given order. A read
// that continues after this position returns none of these versions.
func afterVersions(p varve.Position, o varve.Order) varve.Position {
	version := uint32(0)
	if o == varve.Ascending {
		version = math.MaxUint32
	}
	return varve.Position{Time: p.Time, ID: p.ID.WithVersion(version)}
}

// Open plans a query. It reads no readings before Next. The caller must call Close.
func (e *Engine) Open(ctx context.Context, q Query) (*Rows, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	q = q.normalized()
	if q.After != nil && !q.Versions {
		after := afterVersions(*q.After, q.Order)
		q.After = &after
	}
	k, err := e.knownStream(ctx, q.Series.Tenant, q.Series.Stream, q.Consistent)
	if err != nil {
		return nil, err
	}
	p, err := e.plan(ctx, &q, &k)
	if err != nil {
		return nil, err
	}
	p.inOrder(q.Order)
	r := &Rows{q: q, left: q.Limit, where: newSelection(&q)}
	r.tables = merger{pager: pager{e: e, q: &r.q, layout: p.layout, parallel: e.parallelOf(&p)}, plan: p, ahead: 1}
	if q.Limit == 0 {
		r.left, r.tables.ahead = -1, r.tables.parallel
	}
	if len(q.Where) > 0 {
		r.left = -1 // the limit counts matching readings only: see selection
	}
	r.tables.coverage.Expired, r.tables.coverage.Listed = p.expired, p.listed
	return r, nil
}

// Next returns the next readings, or none at the end. They are valid until the next call. After an
// error, each call fails, because later readings would hide that some are missing.
func (r *Rows) Next(ctx context.Context) ([]varve.Reading, error) {
	for {
		readings, scanned, err := r.nextMatching(ctx)
		if err != nil || len(readings) > 0 || scanned == 0 {
			return readings, err
		}
	}
}

// nextMatching returns the matching readings of the next page, without the fields that the query
// does not request. It also returns the number of readings before Where selected some of them.
func (r *Rows) nextMatching(ctx context.Context) (readings []varve.Reading, scanned int, err error) {
	readings, err = r.next(ctx)
	scanned = len(readings)
	returned := scanned + len(r.parts) // none of the readings in columns have expired
	if len(r.q.Where) > 0 && scanned > 0 {
		if readings, returned, r.limitReached = r.where.selectFrom(readings); returned < scanned {
			r.last = readings[len(readings)-1].Position() // the rest of the page belongs to the next answer
		}
	}
	r.expired.endBatch(returned)
	r.project(readings)
	return readings, scanned, err
}

// next returns the next readings, with all their fields.
func (r *Rows) next(ctx context.Context) ([]varve.Reading, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.out, r.size = r.out[:0], 0
	r.releasePage()
	if !r.tables.hasPending() {
		r.tables.releaseShare() // another answer can acquire the share now
	}
	for r.hasRoom() && !r.limitReached {
		if len(r.out) > 0 && r.tables.mustRead() {
			break // the next read would overwrite the memory of r.out
		}
		whole, err := r.appendNext(ctx)
		if err != nil {
			r.err = err
			return nil, err
		}
		if len(whole) > 0 {
			return r.emit(whole), nil
		}
		if !r.mayContinue || len(r.parts) > 0 || r.tables.hasColumns() {
			break
		}
	}
	return r.emit(r.out), nil
}

// hasRoom reports whether Next may collect more readings.
func (r *Rows) hasRoom() bool {
	readings, size := r.tables.bounds()
	return len(r.out) < min(batch, readings) && r.size < size
}

// emit records the position of the last of the readings, and returns them.
func (r *Rows) emit(readings []varve.Reading) []varve.Reading {
	if len(readings) == 0 {
		return nil
	}
	r.last, r.returned = readings[len(readings)-1].Position(), true
	return readings
}

// appendNext appends the next reading to out, unless it has expired.
//
// If many of the next readings are in one table, appendNext returns the live ones without copying. If the
// next readings are columns, it moves them to r.parts. It clears r.mayContinue at the end of the answer,
// and sets r.limitReached at the limit.
func (r *Rows) appendNext(ctx context.Context) (whole []varve.Reading, err error) {
	first, err := r.tables.nextSource(ctx, wanted{left: r.left, columns: r.columns})
	if err != nil {
		return nil, err
	}
	r.mayContinue = first != nil
	if !r.mayContinue {
		return nil, nil
	}
	if r.left == 0 {
		if len(first.parts) > 0 {
			first.convertParts()
		}
		// This reading is beyond the limit. If it is live, more readings follow.
		if pick, _ := r.takeReading(first); pick != nil {
			r.limitReached, r.mayContinue = true, false
		}
		return nil, nil
	}
	if len(first.parts) > 0 {
		if len(r.out) == 0 {
			r.emitParts(first)
		}
		return nil, nil
	}
	if len(r.out) == 0 {
		if n := r.tables.leading(first); n >= minRun || n == len(first.page) {
			return r.liveRun(first, n), nil
		}
	}
	if pick, conflict := r.takeReading(first); pick != nil {
		if conflict {
			r.tables.coverage.Conflicts++
		}
		r.out = append(r.out, *pick)
		r.size += sizeOf(pick)
		r.count(1)
	}
	return nil, nil
}

// takeReading skips the current reading of a source in the pages of all sources, and counts it as expired if
// no copy is live.
func (r *Rows) takeReading(first *source) (pick *varve.Reading, conflict bool) {
	if pick, conflict = r.tables.takeReading(first); pick == nil {
		r.expired.add(len(r.out))
	}
	return pick, conflict
}

// count subtracts returned readings from the limit.
func (r *Rows) count(n int) {
	if r.left > 0 {
		r.left -= n
	}
}

// liveRun returns the live readings among the next n of a table, up to the limit. The result may be
// empty.
func (r *Rows) liveRun(s *source, n int) []varve.Reading {
	page := s.page[:n]
	if r.left > 0 && len(page) > r.left {
		page = page[:r.left]
	}
	if _, most := r.tables.bounds(); s.size > most {
		page = page[:fitting(page, most)]
	}
	s.page = s.page[len(page):]
	live := 0
	for i := range page {
		if page[i].Alive(s.cutoff) {
			if live != i {
				// The elements are swapped, so that the next page can reuse the memory of each element.
				page[live], page[i] = page[i], page[live]
			}
			live++
		} else {
			r.expired.add(live)
		}
	}
	r.count(live)
	return page[:live]
}

func (r *Rows) project(readings []varve.Reading) {
	if len(r.q.Fields) == 0 {
		return
	}
	for i := range readings {
		readings[i].Fields = slices.DeleteFunc(readings[i].Fields, func(f varve.Field) bool {
			return !slices.Contains(r.q.Fields, f.Name)
		})
	}
}

// More reports whether the limit or the scan limit ended the answer. Then it also returns the position
// after which the next answer must continue. The results are valid after Next has returned no readings.
func (r *Rows) More() (varve.Position, bool) {
	if !r.limitReached {
		return varve.Position{}, false
	}
	return r.last, true
}

// HasFullPages reports whether the last page was allowed the full size. Only a few answers at a time have
// full pages. So a caller may use more memory for such an answer.
func (r *Rows) HasFullPages() bool { return r.tables.large }

// Coverage returns the coverage of the answer so far.
func (r *Rows) Coverage() Coverage {
	c := r.tables.coverage
	c.Missing = slices.Concat(r.tables.plan.lost, c.Missing)
	c.Expiry = r.tables.plan.expiry.reported(r.expired.upTo(r.limitReached), r.returned)
	c.AsOf = r.tables.plan.asOf
	r.tables.damage.addTo(&c)
	return c
}

// Cost returns the cost of all reads so far.
func (r *Rows) Cost() store.Cost { return r.tables.cost }

// Profile returns the fields and kinds of values that were compared with Where.
func (r *Rows) Profile() *filter.Profile { return &r.where.profile }

// Release releases the memory of the last page of Next, which must not be used afterward. Callers
// use it before they wait for a slow client.
func (r *Rows) Release() {
	r.out = r.out[:0]
	r.releasePage()
	r.tables.releaseEmpty()
}

// releasePage releases the memory of tables without further readings, and the columns that were
// returned.
func (r *Rows) releasePage() {
	r.tables.releaseEnded()
	for _, release := range r.release {
		release()
	}
	r.release, r.parts = r.release[:0], nil
}

// Close releases the memory of the readings. The last page of Next must not be used afterward.
func (r *Rows) Close() {
	r.releasePage()
	r.tables.close()
}
