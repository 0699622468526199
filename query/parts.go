package query

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// Part is the next part of an answer: columns or readings.
type Part struct {
	// Columns hold the first readings, with all their fields: content ids depend on them. The
	// caller omits the fields that the query does not request.
	Columns  []block.Part
	Readings []varve.Reading
	// Scanned is the number of readings before Where selected some of them.
	Scanned int
}

// IsEnd reports whether the answer ended before the part. With Where, a part without readings need
// not be the end.
func (p *Part) IsEnd() bool { return p.Len() == 0 && p.Scanned == 0 }

// Len returns the number of readings of the part.
func (p *Part) Len() int {
	n := len(p.Readings)
	for i := range p.Columns {
		n += p.Columns[i].Len()
	}
	return n
}

// NextPart is like Next, but may return readings as columns. It does so if the store holds
// columns and no other table has readings in their range. A caller uses either Next or NextPart.
func (r *Rows) NextPart(ctx context.Context) (Part, error) {
	r.columns = len(r.q.Where) == 0
	readings, scanned, err := r.nextMatching(ctx)
	return Part{Columns: r.parts, Readings: readings, Scanned: scanned}, err
}

// isEmpty reports whether all readings of the last page were returned.
func (s *source) isEmpty() bool { return len(s.page) == 0 && len(s.parts) == 0 }

// readPage reads the next page of a source.
func (r *Rows) readPage(ctx context.Context, s *source, rng store.Range) (store.Page, error) {
	blocks, ok := r.e.opts.Reader.(store.BlockReader)
	if !ok || !r.columns || len(r.sources) > 1 {
		return r.e.opts.Reader.Read(ctx, rng, s.buf.readings[:0])
	}
	page, err := blocks.ReadBlocks(ctx, rng, s.buf.readings[:0])
	s.parts, s.release = page.Parts, page.Release
	return page.Page, err
}

// noteParts records the size and the end of the columns of a page. It returns their size.
func (r *Rows) noteParts(s *source) (size int) {
	n := 0
	for i := range s.parts {
		n += s.parts[i].Len()
		size += partSize(&s.parts[i])
	}
	if n > 0 {
		r.e.sizes.note(r.q.Series, size/n)
		s.begun, s.last = true, r.endOf(s.parts)
	}
	return size
}

// partSize returns the approximate size of the readings of a part, as sizeOf does.
func partSize(p *block.Part) (size int) {
	for i := range p.Columns {
		c := &p.Columns[i]
		if len(c.Texts) == 0 && len(c.Slots) == 0 {
			size += fieldBytes * p.Len()
			continue
		}
		for row := p.From; row < p.To; row++ {
			if c.Has(row) {
				size += fieldBytes + len(c.Value(row).Text())
			}
		}
	}
	return size
}

// separate converts columns to readings unless NextPart can return them. It cannot if another
// table may hold readings in their range, if some may have expired, or if they are too large.
func (r *Rows) separate() {
	for _, s := range r.sources {
		if len(s.parts) == 0 {
			continue
		}
		_, most := r.bounds()
		last := varve.Position{Time: s.parts[len(s.parts)-1].LastTime()}
		if len(r.sources) == 1 && !r.reachesNext(last) && s.size <= most && s.isLive() {
			continue
		}
		s.convertParts()
	}
}

// isLive reports whether all readings in columns happened after the cutoff of the table.
func (s *source) isLive() bool {
	if s.cutoff.IsZero() {
		return true
	}
	for i := range s.parts {
		p := &s.parts[i]
		if !time.Unix(0, p.Times[p.From]).After(s.cutoff) {
			return false
		}
	}
	return true
}

// convertParts converts the columns of a page to readings.
func (s *source) convertParts() {
	n := len(s.page)
	for i := range s.parts {
		n += s.parts[i].Len()
	}
	page := make([]varve.Reading, 0, n)
	for i := range s.parts {
		p := &s.parts[i]
		for k := range p.Len() {
			page = append(page, varve.Reading{})
			p.Fill(p.Row(k), &page[len(page)-1])
		}
	}
	s.page = append(page, s.page...)
	s.buf.readings = s.page
	if s.release != nil {
		s.release()
	}
	s.parts, s.release = nil, nil
}

// emitParts sets r.parts to the columns of a source, up to the limit. The rest become readings.
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
	r.last = r.endOf(r.parts)
}

// endOf returns the position of the last reading of parts.
func (r *Rows) endOf(parts []block.Part) varve.Position {
	p := &parts[len(parts)-1]
	row := p.Row(p.Len() - 1)
	r.forms.Reset(p.Block)
	return varve.Position{Time: p.Times[row], ID: r.forms.ID(row)}
}

// hasColumns reports whether the next readings are columns.
func (r *Rows) hasColumns() bool {
	return len(r.parts) > 0 || slices.ContainsFunc(r.sources, func(s *source) bool { return len(s.parts) > 0 })
}

// releaseParts releases the columns that were returned.
func (r *Rows) releaseParts() {
	for _, release := range r.release {
		release()
	}
	r.release, r.parts = r.release[:0], nil
}
