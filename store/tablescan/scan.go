// Package tablescan reads whole tables of a store, for jobs such as the archive.
//
//	store ── Series ──▶ each series ── Read or ReadBlocks ──▶ Sink
//
// A [Scanner] reads a table of a [Source] series by series, and a [Sink] receives the readings.
// [Scanner.CountArrivals] counts the readings of a table by the day of their arrival. Queries do
// not use this package, because each call reads a whole table.
//
// Readings are sorted by series and position. Readings that are written meanwhile may be missing,
// so an exact scan needs a sealed table. A scan fails with [store.ErrNoTable] if the table is
// missing, and with any error of the store or the sink. It may be repeated. A Scanner is safe for
// concurrent use.
package tablescan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/wait"
	"github.com/varvedb/varve/store"
)

// Source is the part of a store that a Scanner reads.
type Source interface {
	store.Reader
	store.Enumerator
}

// Sink receives the readings of a table, sorted by series and position. A part or a reading is valid
// only until the called function returns. An error ends the scan.
type Sink struct {
	Part    func(*block.Part) error
	Reading func(*varve.Reading) error
}

// Scanner reads tables of a store. It is safe for concurrent use.
type Scanner struct {
	Source Source
	Rate   float64 // largest number of readings to read per second; 0 means no limit
	// InTurn, if set, calls the function "do" as soon as a page may be read.
	InTurn func(ctx context.Context, do func() error) error
}

// Scan passes all readings of a table to a sink, and returns the cost. The memory that Scan needs
// grows only with the number of series. Scan fails with store.ErrNoTable if the table is missing.
// Readings that are written meanwhile may be missing.
func (sc *Scanner) Scan(ctx context.Context, t grid.Table, to Sink) (cost store.Cost, err error) {
	series, err := sc.seriesOf(ctx, t, &cost)
	if err != nil {
		return cost, fmt.Errorf("list series: %w", err)
	}
	layouts := layoutCache{store: sc.Source}
	for _, s := range series {
		l, err := layouts.of(ctx, s)
		if err != nil {
			return cost, fmt.Errorf("find the layout of stream %s: %w", s.Stream, err)
		}
		if err := sc.scanSeries(ctx, store.Range{Table: t, Series: s, Window: varve.AllTime(), Consistent: true, Layout: l}, to, &cost); err != nil {
			return cost, fmt.Errorf("series %s: %w", s, err)
		}
	}
	return cost, nil
}

func (sc *Scanner) seriesOf(ctx context.Context, t grid.Table, cost *store.Cost) (series []varve.Series, err error) {
	for after := ""; ; {
		page, err := sc.Source.Series(ctx, store.SeriesQuery{Table: t, After: after})
		if err != nil {
			return nil, err
		}
		cost.Add(page.Cost)
		series = append(series, page.Series...)
		if after = page.Next; after == "" {
			break
		}
	}
	slices.SortFunc(series, varve.Series.Compare)
	return slices.Compact(series), nil
}

func (sc *Scanner) scanSeries(ctx context.Context, r store.Range, to Sink, cost *store.Cost) error {
	for more := true; more; {
		var last varve.Position
		var n int
		err := sc.inTurn(ctx, func() (err error) {
			last, n, more, err = sc.scanPage(ctx, r, to, cost)
			return err
		})
		if err != nil || !more {
			return err
		}
		if n == 0 {
			return errors.New("a page has no readings")
		}
		r.After = &last
		if err := sc.pace(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (sc *Scanner) inTurn(ctx context.Context, do func() error) error {
	if sc.InTurn == nil {
		return do()
	}
	return sc.InTurn(ctx, do)
}

// scanPage passes a page to a sink. It returns the last position and the number of readings, and
// whether more may follow.
func (sc *Scanner) scanPage(ctx context.Context, r store.Range, to Sink, cost *store.Cost) (last varve.Position, n int, more bool, err error) {
	var page store.BlockPage
	if reader, ok := sc.Source.(store.BlockReader); ok {
		page, err = reader.ReadBlocks(ctx, r, nil)
	} else {
		page.Page, err = sc.Source.Read(ctx, r, nil)
	}
	if err != nil {
		return last, 0, false, err
	}
	cost.Add(page.Cost)
	last, n, err = passPage(&page, to)
	if page.Release != nil {
		page.Release()
	}
	return last, n, page.More, err
}

// passPage passes the readings of a page to a sink. It returns the last position and the number of
// readings.
func passPage(page *store.BlockPage, to Sink) (last varve.Position, n int, err error) {
	for i := range page.Parts {
		p := &page.Parts[i]
		if err := to.Part(p); err != nil {
			return last, n, err
		}
		var r varve.Reading
		p.Fill(p.Row(p.Len()-1), &r)
		last, n = r.Position(), n+p.Len()
	}
	for i := range page.Readings {
		if err := to.Reading(&page.Readings[i]); err != nil {
			return last, n, err
		}
		last, n = page.Readings[i].Position(), n+1
	}
	return last, n, nil
}

// pace waits so that a scan does not exceed the rate.
func (sc *Scanner) pace(ctx context.Context, readings int) error {
	if sc.Rate <= 0 {
		return ctx.Err()
	}
	return wait.For(ctx, time.Duration(float64(readings)/sc.Rate*float64(time.Second)))
}

// layoutCache finds the layouts with which streams were written, and remembers the last layout.
type layoutCache struct {
	store  any
	tenant string
	stream string
	layout store.StreamLayout
}

// of returns a layout with which all readings of a series are found, even if they were written with several
// layouts. See store.Layout.
func (c *layoutCache) of(ctx context.Context, s varve.Series) (store.Layout, error) {
	reader, ok := c.store.(store.LayoutReader)
	if !ok {
		return store.Layout{}, nil
	}
	if c.tenant != s.Tenant || c.stream != s.Stream {
		layout, err := reader.StreamLayout(ctx, s.Tenant, s.Stream)
		if err != nil {
			return store.Layout{}, err
		}
		c.tenant, c.stream, c.layout = s.Tenant, s.Stream, layout
	}
	return store.Layout{RowWindow: c.layout.Window, Shards: c.layout.Shards[s.Device]}, nil
}
