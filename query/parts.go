package query

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// Part has the next readings of an answer: first columns, then single readings.
type Part struct {
	// Columns has the first readings. They have all fields, because content ids depend on all
	// fields. The caller omits the fields that the query does not request.
	Columns  []block.Part
	Readings []varve.Reading
	// Scanned is the number of readings before Where selected some of them.
	Scanned int
}

// IsEnd reports whether the part is empty because the answer has ended. With Where, a part can also
// be empty because no reading matched.
func (p *Part) IsEnd() bool { return p.Len() == 0 && p.Scanned == 0 }

// Len returns the number of readings of the part.
func (p *Part) Len() int {
	n := len(p.Readings)
	for i := range p.Columns {
		n += p.Columns[i].Len()
	}
	return n
}

// NextPart is like Next, but may return readings as columns. It does so only if the query has no filter,
// the store has columns, and no other table has readings in their range. A caller uses either Next or
// NextPart.
func (r *Rows) NextPart(ctx context.Context) (Part, error) {
	r.columns = len(r.q.Where) == 0
	readings, scanned, err := r.nextMatching(ctx)
	return Part{Columns: r.parts, Readings: readings, Scanned: scanned}, err
}

// emitParts moves the columns of a source to r.parts, up to the limit of readings. It converts
// columns after the limit to readings of the source.
func (r *Rows) emitParts(s *source) {
	r.parts = s.parts
	release := s.release
	s.parts, s.release = nil, nil
	for i := range r.parts {
		p := &r.parts[i]
		if r.left >= 0 && p.Len() >= r.left {
			head, rest := p.Cut(r.left)
			if s.parts = slices.Clone(r.parts[i+1:]); rest.Len() > 0 {
				s.parts = slices.Insert(s.parts, 0, rest)
			}
			*p, r.parts = head, r.parts[:i+1]
			r.left = 0
			break
		}
		r.count(p.Len())
	}
	if len(s.parts) > 0 {
		s.convertParts()
	}
	if release != nil {
		r.release = append(r.release, release)
	}
	r.returned = true
	if r.left == 0 {
		r.last = r.tables.endOf(r.parts) // computed only at the limit, because a content id needs all values
	}
}
