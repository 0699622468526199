package query

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// source is a table that is being read.
type source struct {
	planned
	page        []varve.Reading
	buf         *buffer
	size        int            // size of the page when it was read, in bytes
	last        varve.Position // position of the last reading that was read; valid if begun
	more, begun bool
	parts       []block.Part // columns that precede page; set only while no other table is open
	release     func()       // releases the memory of parts; may be nil
	// next reads the archive. It is nil until the first read of the archive.
	next func(ctx context.Context, limit int) (store.BlockPage, error)
}

// isEmpty reports whether all readings of the last page were returned.
func (s *source) isEmpty() bool { return len(s.page) == 0 && len(s.parts) == 0 }

// isLive reports whether all readings in columns happened after the cutoff of the table. It ignores
// their arrivals. So if it returns false, the readings may still be live.
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
