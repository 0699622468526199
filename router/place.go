package router

import (
	"errors"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/reuse"
	"github.com/varvedb/varve/store"
)

// placer groups the readings of a write by table. Later writes and requests reuse its buffers.
type placer struct {
	groups   []group
	copies   []varve.Reading // readings of a write to several tables
	verdicts []varve.Verdict // the verdicts of the store on the readings of all tables
	last     int             // index of the group of the previous reading
	stream   string
	prefix   string
}

// placers has the placers of ended requests.
var placers reuse.List[placer]

// release lets later requests use the memory of the placer.
func (p *placer) release() {
	p.reset()
	p.stream, p.prefix = "", ""
	placers.Put(p)
}

func (p *placer) reset() {
	for i := range p.groups {
		p.groups[i] = group{index: p.groups[i].index[:0]}
	}
	clear(p.copies) // otherwise, the texts of this request would stay in memory
	clear(p.verdicts)
	p.groups, p.copies, p.verdicts, p.last = p.groups[:0], p.copies[:0], p.verdicts[:0], 0
}

type group struct {
	table grid.Table
	index []int // indexes of the readings in the slice that the caller passed
}

// placeReadings returns the readings without a verdict, as one batch per table. It rejects
// readings whose event time is in no table of the grid.
func (p *placer) placeReadings(q *Request, readings []varve.Reading, verdicts []varve.Verdict) []store.Batch {
	p.reset()
	placed := 0
	for i := range readings {
		if verdicts[i].Outcome != 0 {
			continue
		}
		g, ok := p.group(q, &readings[i])
		if !ok {
			verdicts[i] = varve.Reject(varve.CodeTimeInFuture, "no table holds the time %s", readings[i].Time)
			continue
		}
		g.index = append(g.index, i)
		placed++
	}
	p.verdicts = slices.Grow(p.verdicts, placed)[:placed]
	if len(p.groups) == 1 && placed == len(readings) {
		return []store.Batch{{Table: p.groups[0].table, Readings: readings, Verdicts: p.verdicts, Layout: q.layout}}
	}
	return p.batches(q, readings, placed)
}

func (p *placer) batches(q *Request, readings []varve.Reading, placed int) []store.Batch {
	p.copies = slices.Grow(p.copies, placed)
	batches := make([]store.Batch, 0, len(p.groups))
	for _, g := range p.groups {
		from := len(p.copies)
		for _, i := range g.index {
			p.copies = append(p.copies, readings[i])
		}
		to := len(p.copies)
		batches = append(batches, store.Batch{Table: g.table, Readings: p.copies[from:to:to], Verdicts: p.verdicts[from:to:to], Layout: q.layout})
	}
	return batches
}

// group returns the group for the table of a reading. It returns false if no table of the grid can
// contain the event time.
func (p *placer) group(q *Request, r *varve.Reading) (*group, bool) {
	if r.Stream != p.stream || p.prefix == "" {
		policy := q.r.opts.Policy
		p.stream, p.prefix = r.Stream, policy.TablePrefix(policy.ClassOf(r.Stream).Name)
	}
	for n := range p.groups {
		i := (p.last + n) % len(p.groups)
		if g := &p.groups[i]; g.table.Contains(r.Time) && g.table.Prefix == p.prefix {
			p.last = i
			return g, true
		}
	}
	rng, ok := q.r.opts.Grid.Locate(r.Time, q.month)
	if !ok {
		return nil, false
	}
	p.last = len(p.groups)
	if p.last < cap(p.groups) {
		p.groups = p.groups[:p.last+1] // reuses a group of an earlier write, and the memory of its index
	} else {
		p.groups = append(p.groups, group{})
	}
	g := &p.groups[p.last]
	g.table, g.index = grid.Table{Prefix: p.prefix, Range: rng, Month: q.month}, g.index[:0]
	return g, true
}

// applyResults copies the verdicts of a write. If the argument "retry" is true, it returns the batches
// whose table is missing, instead of rejecting their readings.
func (p *placer) applyResults(batches []store.Batch, results []store.Result, verdicts []varve.Verdict, retry bool) (missing []store.Batch) {
	for i, res := range results {
		switch {
		case res.Err == nil:
			for j, at := range p.find(batches[i].Table).index {
				verdicts[at] = res.Verdicts[j]
			}
		case retry && errors.Is(res.Err, store.ErrNoTable):
			missing = append(missing, batches[i])
		default:
			p.reject(batches[i].Table, verdicts, res.Err)
		}
	}
	return missing
}

// reject gives all readings of a table the verdict for an error.
func (p *placer) reject(t grid.Table, verdicts []varve.Verdict, err error) {
	v := rejectFor(err)
	for _, at := range p.find(t).index {
		verdicts[at] = v
	}
}

func (p *placer) find(t grid.Table) *group {
	for i := range p.groups {
		if p.groups[i].table == t {
			return &p.groups[i]
		}
	}
	panic("router: a result for a table that nothing was written to: " + t.Name())
}
