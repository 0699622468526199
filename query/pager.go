package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// pager reads pages of tables for one answer. It chooses the size of pages, and records the tables
// that were read.
type pager struct {
	e        *Engine
	q        *Query
	layout   store.Layout
	parallel int  // maximum number of tables that are read concurrently
	large    bool // the answer has acquired one of the engine's shares for full pages
	forms    block.Forms
	coverage Coverage
	cost     store.Cost
	damage   damage
}

// wanted describes the pages that the caller can use.
type wanted struct {
	left    int  // number of readings that may still be returned; -1 means no limit
	columns bool // the caller can use columns
}

func (p *pager) readPages(ctx context.Context, sources []*source, w wanted) error {
	costs := make([]store.Cost, len(sources))
	errs := make([]error, len(sources))
	if len(sources) == 1 {
		costs[0], errs[0] = p.readPage(ctx, sources[0], w)
	} else {
		g := errgroup.Group{}
		g.SetLimit(p.parallel)
		for i, s := range sources {
			g.Go(func() error {
				costs[i], errs[i] = p.readPage(ctx, s, w)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	for i, s := range sources {
		errs[i] = p.record(s, costs[i], errs[i])
	}
	return errors.Join(errs...)
}

// readPage reads the next page of a source. It may be called concurrently for different sources.
func (p *pager) readPage(ctx context.Context, s *source, w wanted) (store.Cost, error) {
	limit := p.limit()
	if w.left >= 0 && s.asOf.IsZero() {
		limit = min(w.left+1, limit) // an additional reading shows whether more readings exist
	}
	if s.buf == nil {
		s.buf = buffers.Get().(*buffer)
	}
	cost := store.Cost{}
	for {
		after := p.q.After
		if s.begun {
			after = &s.last
		}
		rng := p.q.rangeOf(s.Table, p.layout, after, limit)
		rng.Damaged = p.damage.collect(p.q.SkipDamaged)
		page, err := p.readRange(ctx, s, rng, w)
		cost.Add(page.Cost)
		if s.replace(err) {
			continue
		}
		if err != nil {
			s.page, s.more = nil, false
			return cost, err
		}
		before := source{begun: s.begun, last: s.last}
		p.usePage(s, &page)
		if page.Split && (!p.q.Versions || p.q.isScan) {
			more, err := p.readVersions(ctx, s, &before)
			cost.Add(more)
			if s.replace(err) {
				continue
			}
			if err != nil {
				s.more = false
				return cost, err
			}
		}
		p.omitReadings(s)
		if !s.isEmpty() || !s.more {
			return cost, nil
		}
		// All readings of the page arrived after AsOf, so the next page is read.
	}
}

func (p *pager) usePage(s *source, page *store.Page) {
	s.page, s.more = page.Readings, page.More
	s.size = p.noteParts(s, page) + p.noteReadings(page.Readings)
	s.buf.set(page.Readings, s.size)
	if n := len(page.Readings); n > 0 {
		s.begun, s.last = true, page.Readings[n-1].Position()
	}
}

// omitReadings removes the readings of a page that arrived after AsOf, and then superseded
// versions.
func (p *pager) omitReadings(s *source) {
	s.omitLater()
	switch {
	case !p.q.Versions:
		s.omitSuperseded()
	case p.q.isScan && len(s.parts) > 0 && s.hasVersions():
		s.convertParts()
	}
}

// readRange reads a range. It reads columns if the store has them and the caller can use them.
func (p *pager) readRange(ctx context.Context, s *source, rng store.Range, w wanted) (store.Page, error) {
	if s.archived != nil {
		return p.readArchived(ctx, s, rng, w)
	}
	blocks, ok := p.blocks(w)
	if !ok {
		return p.e.opts.Reader.Read(ctx, rng, s.buf.readings[:0])
	}
	page, err := blocks.ReadBlocks(ctx, rng, s.buf.readings[:0])
	s.parts, s.release = page.Parts, page.Release
	return page.Page, err
}

// blocks returns the store as a reader of columns, if the store can read columns and the caller can
// use them.
func (p *pager) blocks(w wanted) (reader store.BlockReader, ok bool) {
	if w.columns {
		reader, ok = p.e.opts.Reader.(store.BlockReader)
	}
	return reader, ok
}

func (p *pager) record(s *source, cost store.Cost, err error) error {
	p.cost.Add(cost)
	name := s.Name()
	switch {
	case err == nil:
		read := &p.coverage.Read
		if s.archived != nil {
			read = &p.coverage.Archived
		}
		if !slices.Contains(*read, name) {
			*read = append(*read, name)
		}
		return nil
	case errors.Is(err, store.ErrNoTable) && p.q.Archive == NoArchives:
		p.coverage.Missing = append(p.coverage.Missing, name)
		return nil
	case errors.Is(err, store.ErrNoTable):
		p.coverage.Failed = append(p.coverage.Failed, name)
		return &varve.Error{Failure: varve.Unavailable, Err: err, Message: name + " was dropped while it was read: send the request again"}
	default:
		p.coverage.Failed = append(p.coverage.Failed, name)
		return fmt.Errorf("read %s: %w", name, err)
	}
}

// limit returns the number of readings to request from the store.
func (p *pager) limit() int {
	size := p.e.sizes.of(p.q.Series)
	if size == 0 {
		return firstReadings
	}
	readings, most := p.bounds()
	return min(max(most/size, 1), readings)
}

// bounds returns the maximum number and total size of readings of one answer in memory.
func (p *pager) bounds() (readings, size int) {
	if p.large {
		return pageReadings, batchBytes
	}
	return smallReadings, smallBytes
}

// acquireShare lets the answer use full pages, if one of the engine's shares is free.
func (p *pager) acquireShare() {
	if !p.large {
		p.large = p.e.large.TryAcquire(1)
	}
}

func (p *pager) releaseShare() {
	if p.large {
		p.e.large.Release(1)
	}
	p.large = false
}

// noteReadings records the average size of readings for the series, and returns their total size.
func (p *pager) noteReadings(readings []varve.Reading) (size int) {
	for i := range readings {
		size += sizeOf(&readings[i])
	}
	if len(readings) > 0 {
		p.e.sizes.remember(p.q.Series, size/len(readings))
	}
	return size
}

// noteParts records the size and the end of the columns of a page. It returns their size. The end needs
// no id, and so no decoded values, if no further reading has the same time.
func (p *pager) noteParts(s *source, page *store.Page) (size int) {
	n := 0
	for i := range s.parts {
		n += s.parts[i].Len()
		size += partSize(&s.parts[i])
	}
	if n > 0 {
		p.e.sizes.remember(p.q.Series, size/n)
		s.begun = true
		switch last := s.parts[len(s.parts)-1].LastTime(); {
		case page.More && !page.Apart:
			s.last = p.endOf(s.parts)
		case p.q.Order == varve.Descending:
			s.last = varve.Position{Time: last}
		default:
			s.last = varve.Position{Time: last + 1}
		}
	}
	return size
}

func (p *pager) endOf(parts []block.Part) varve.Position {
	last := &parts[len(parts)-1]
	row := last.Row(last.Len() - 1)
	p.forms.Reset(last.Block)
	return varve.Position{Time: last.Times[row], ID: p.forms.ID(row)}
}
