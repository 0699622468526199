package query

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// firstVersions is the number of readings that the first read requests to complete a page. A page must not
// end between two versions of a reading.
const firstVersions = 8

// readVersions completes a page that ends between two versions of a reading. If it fails, the
// source is in the state before the page.
//
// Each read requests twice as many readings as the one before, up to a whole page, because stores decode the
// earlier versions of the reading in each read. Unless the query selects versions, only one of them stays in
// memory.
func (p *pager) readVersions(ctx context.Context, s *source, before *source) (cost store.Cost, err error) {
	s.convertAll()
	limit := firstVersions
	for split := true; split; limit = max(limit, min(2*limit, p.limit())) {
		page, err := p.readFew(ctx, s, limit)
		cost.Add(page.Cost)
		if err != nil {
			s.begun, s.last, s.page = before.begun, before.last, nil
			return cost, err
		}
		s.page = append(s.page, page.Readings...)
		s.size += p.noteReadings(page.Readings)
		s.buf.set(s.page, s.size)
		s.more, split = page.More, page.Split
		s.last = s.page[len(s.page)-1].Position()
		p.omitReadings(s)
	}
	return cost, nil
}

// readFew reads up to limit further readings of a source into new memory.
func (p *pager) readFew(ctx context.Context, s *source, limit int) (store.Page, error) {
	if s.archived == nil {
		rng := p.q.rangeOf(s.Table, p.layout, &s.last, limit)
		rng.Damaged = p.damage.collect(p.q.SkipDamaged)
		return p.e.opts.Reader.Read(ctx, rng, nil)
	}
	page, err := s.next(ctx, limit)
	for i := range page.Parts {
		part := &page.Parts[i]
		for k := range part.Len() {
			var r varve.Reading
			part.Fill(part.Row(k), &r)
			page.Readings = append(page.Readings, r)
		}
	}
	if page.Release != nil {
		page.Release()
	}
	return page.Page, err
}

func (s *source) hasVersions() bool {
	for i := range s.parts {
		if s.parts[i].HasVersions() {
			return true
		}
	}
	for i := range s.page {
		if s.page[i].ID.Version() > 0 {
			return true
		}
	}
	return false
}

// omitSuperseded removes all versions of each reading of a page except one: the highest live one,
// or else the highest. The next page reuses the memory of the removed readings.
func (s *source) omitSuperseded() {
	if !s.hasVersions() {
		return
	}
	s.convertAll()
	n := 0
	for from := 0; from < len(s.page); {
		to := from + 1
		for to < len(s.page) && s.page[to].Position().IsVersionOf(s.page[from].Position()) {
			to++
		}
		pick := from
		for i := from; i < to; i++ {
			c, best := &s.page[i], &s.page[pick]
			live, bestLive := c.Alive(s.cutoff), best.Alive(s.cutoff)
			if live && !bestLive || live == bestLive && c.ID.Version() > best.ID.Version() {
				pick = i
			}
		}
		if n != pick {
			// The elements are swapped, so that the next page can reuse the memory of each element.
			s.page[n], s.page[pick] = s.page[pick], s.page[n]
		}
		n, from = n+1, to
	}
	s.page = s.page[:n]
}

func (s *source) convertAll() {
	if len(s.parts) > 0 {
		s.convertParts()
	}
}

// takeNewest removes the current reading, with all its versions, from all sources. Of the live copies
// of the highest live version, it returns the one that arrived first. It returns nil if no copy is
// live. A conflict is a live copy of that version with other values.
func (m *merger) takeNewest(first *source) (pick *varve.Reading, conflict bool) {
	at := first.page[0].Position()
	for _, s := range m.sources {
		// A page has one version of each reading: see omitSuperseded.
		if len(s.page) == 0 || !s.page[0].Position().IsVersionOf(at) {
			continue
		}
		c := &s.page[0]
		s.page = s.page[1:]
		switch {
		case !c.Alive(s.cutoff) || pick != nil && c.ID.Version() < pick.ID.Version():
		case pick == nil || c.ID.Version() > pick.ID.Version():
			pick, conflict = c, false
		default:
			conflict = conflict || !c.SameFields(pick)
			if c.Arrived.Before(pick.Arrived) {
				pick = c
			}
		}
	}
	return pick, conflict
}

// isSuperseded reports whether the position "at" belongs to a further copy or a higher version of the
// found reading. Then the found reading is uncertain.
func isSuperseded(found, at varve.Position) bool {
	return at.IsVersionOf(found) && at.ID.Version() >= found.ID.Version()
}

// isCorrected reports whether another version of reading i follows on the page.
func (s *source) isCorrected(i int) bool {
	return i+1 < len(s.page) && s.page[i+1].Position().IsVersionOf(s.page[i].Position())
}

// isCorrected reports whether the next reading of any source is a version of the reading at a
// position.
func (m *merger) isCorrected(at varve.Position) bool {
	for _, s := range m.sources {
		if len(s.page) > 0 && s.page[0].Position().IsVersionOf(at) {
			return true
		}
	}
	return false
}
