package query

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/varvedb/varve"
)

// merger merges the tables of a plan. Before it returns a reading, it opens all tables that may contain
// an earlier one. It refills the pages of open tables.
type merger struct {
	pager
	plan    plan
	opened  int // number of opened tables of the plan
	ahead   int // number of tables to open together next time
	sources []*source
	ended   []*buffer        // buffers of finished sources; readings that were returned may be in them
	same    []*varve.Reading // the result of takeCopies
}

// nextSource returns the source with the next reading, or nil at the end. It opens all tables that
// may contain an earlier reading.
func (m *merger) nextSource(ctx context.Context, w wanted) (*source, error) {
	for {
		if err := m.refill(ctx, w); err != nil {
			return nil, err
		}
		var first *source
		for _, s := range m.sources {
			if len(s.parts) > 0 {
				return s, nil // the only open table; see separate
			}
			if len(s.page) > 0 && (first == nil || m.before(&s.page[0], &first.page[0])) {
				first = s
			}
		}
		if m.opened == len(m.plan.tables) {
			return first, nil
		}
		if first != nil && !m.reaches(&m.plan.tables[m.opened], first.page[0].Position()) {
			return first, nil
		}
		m.openNext(first, w)
	}
}

func (m *merger) before(a, b *varve.Reading) bool {
	c := a.Position().Compare(b.Position())
	if m.q.Order == varve.Descending {
		return c > 0
	}
	return c < 0
}

// reaches reports whether a table can contain a reading at or before a position, in the order of
// the query.
func (m *merger) reaches(t *planned, p varve.Position) bool {
	sec := p.Time / int64(time.Second)
	if m.q.Order == varve.Descending {
		return sec < t.End
	}
	return t.Start <= sec
}

// openNext opens the next tables. The argument "first" is the open source with the next reading, or
// nil. If it is set, openNext opens all tables that can contain an earlier reading. Otherwise, the
// field "ahead" limits the number of tables. A query with a limit starts with a single table,
// because one may suffice. Columns can be returned only while a single table is open, so tables
// with columns are opened one by one.
func (m *merger) openNext(first *source, w wanted) {
	from, ahead := m.opened, m.ahead
	if _, ok := m.blocks(w); ok {
		ahead = 1
	}
	for m.opened < len(m.plan.tables) {
		t := &m.plan.tables[m.opened]
		need := first != nil && m.reaches(t, first.page[0].Position())
		if !need && m.opened-from >= ahead {
			break
		}
		if first != nil && !need {
			break
		}
		m.sources = append(m.sources, &source{planned: *t, more: true, buf: buffers.Get().(*buffer)})
		m.opened++
	}
	m.ahead = min(2*m.ahead, m.parallel)
}

// refill reads the next page of every exhausted source, and removes finished sources.
func (m *merger) refill(ctx context.Context, w wanted) error {
	var empty []*source
	for _, s := range m.sources {
		if s.isEmpty() && s.more {
			empty = append(empty, s)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	if !m.hasPending() {
		m.acquireShare()
	}
	m.removeEnded() // all readings of finished sources have been returned
	w.columns = w.columns && len(m.sources) == 1
	if err := m.readPages(ctx, empty, w); err != nil {
		return err
	}
	m.separate()
	m.removeEnded()
	return nil
}

func (m *merger) removeEnded() {
	m.sources = slices.DeleteFunc(m.sources, func(s *source) bool {
		ended := s.isEmpty() && !s.more
		if ended && s.buf != nil {
			m.ended = append(m.ended, s.buf)
		}
		return ended
	})
}

// separate converts columns to readings, unless the columns can be returned. They cannot be returned in
// these cases:
//
//   - Another table may contain readings in their range.
//   - Some of their readings may have expired.
//   - Their page exceeds the limit of the memory of an answer.
func (m *merger) separate() {
	for _, s := range m.sources {
		if len(s.parts) == 0 {
			continue
		}
		_, most := m.bounds()
		last := varve.Position{Time: s.parts[len(s.parts)-1].LastTime()}
		if len(m.sources) == 1 && !m.reachesNext(last) && s.size <= most && s.isLive() {
			continue
		}
		s.convertParts()
	}
}

// hasPending reports whether some readings were read but not returned yet.
func (m *merger) hasPending() bool {
	return slices.ContainsFunc(m.sources, func(s *source) bool { return !s.isEmpty() })
}

func (m *merger) hasColumns() bool {
	return slices.ContainsFunc(m.sources, func(s *source) bool { return len(s.parts) > 0 })
}

func (m *merger) mustRead() bool {
	return slices.ContainsFunc(m.sources, func(s *source) bool { return s.isEmpty() && s.more })
}

// takeReading removes the current reading of a source from all sources. It returns the live copy
// with the first arrival, or nil if no copy is live. A conflict is a live copy with other values. Unless
// the query requests versions, takeReading calls takeNewest instead.
func (m *merger) takeReading(first *source) (pick *varve.Reading, conflict bool) {
	if !m.q.Versions {
		return m.takeNewest(first)
	}
	at := first.page[0].Position()
	for _, s := range m.sources {
		if len(s.page) == 0 || s.page[0].Position() != at {
			continue
		}
		if c := &s.page[0]; c.Alive(s.cutoff) {
			conflict = conflict || pick != nil && !c.SameFields(pick)
			if pick == nil || c.Arrived.Before(pick.Arrived) {
				pick = c
			}
		}
		s.page = s.page[1:]
	}
	return pick, conflict
}

// takeCopies removes the current reading of a source from all sources. It returns its copies in
// the order of their arrival. They are valid until the next call.
func (m *merger) takeCopies(first *source) []*varve.Reading {
	at := first.page[0].Position()
	m.same = m.same[:0]
	for _, s := range m.sources {
		if len(s.page) > 0 && s.page[0].Position() == at {
			m.same = append(m.same, &s.page[0])
			s.page = s.page[1:]
		}
	}
	slices.SortStableFunc(m.same, func(a, b *varve.Reading) int { return a.Arrived.Compare(b.Arrived) })
	return m.same
}

// isAlone reports whether no other open table has readings left, and no further table can have readings
// up to the end of a source's page.
func (m *merger) isAlone(s *source) bool {
	for _, o := range m.sources {
		if o != s && (len(o.page) > 0 || o.more) {
			return false
		}
	}
	return !m.reachesNext(s.page[len(s.page)-1].Position())
}

// reachesNext reports whether the next table that is not open can contain a reading at or before a
// position.
func (m *merger) reachesNext(p varve.Position) bool {
	return m.opened < len(m.plan.tables) && m.reaches(&m.plan.tables[m.opened], p)
}

// minRun is the minimum number of consecutive readings of one table that are returned without copying,
// while other tables have readings, too.
const minRun = 16

// leading returns the number of readings on a source's page that are before the readings of all
// other tables. A reading with the same event time as a reading of another table does not count. It
// returns 0 for fewer than minRun readings, unless the source is alone.
func (m *merger) leading(s *source) int {
	if m.isAlone(s) {
		return len(s.page)
	}
	if len(s.page) < minRun || !m.leads(s, minRun-1) {
		return 0
	}
	return sort.Search(len(s.page), func(i int) bool { return !m.leads(s, i) })
}

// leads reports whether the i-th reading of a page is before the readings of other tables.
func (m *merger) leads(s *source, i int) bool {
	at := s.page[i].Position()
	for _, o := range m.sources {
		switch {
		case o == s:
		case len(o.page) == 0 && o.more:
			return false
		case len(o.page) > 0:
			t := o.page[0].Time.UnixNano()
			if m.q.Order == varve.Descending && at.Time <= t || m.q.Order != varve.Descending && at.Time >= t {
				return false
			}
		}
	}
	return !m.reachesNext(at)
}

func (m *merger) releaseEnded() {
	for _, b := range m.ended {
		if !b.large {
			buffers.Put(b)
		}
	}
	m.ended = m.ended[:0]
}

// releaseEmpty releases the memory of tables whose pages were returned.
func (m *merger) releaseEmpty() {
	for _, s := range m.sources {
		if s.isEmpty() && s.buf != nil {
			if !s.buf.large {
				buffers.Put(s.buf)
			}
			s.buf, s.page = nil, nil
		}
	}
}

func (m *merger) close() {
	for _, s := range m.sources {
		if s.release != nil {
			s.release()
		}
		if s.buf != nil {
			m.ended = append(m.ended, s.buf)
		}
	}
	m.releaseEnded()
	m.releaseShare()
	m.sources, m.opened = nil, len(m.plan.tables)
}
