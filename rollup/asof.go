package rollup

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// applyCut removes the dirty slots that the cut excludes, and the stored partials that have only
// excluded readings. Without AsOf, it removes nothing.
func (b *pageBuilder) applyCut() {
	if b.cut.at == 0 {
		return
	}
	maps.DeleteFunc(b.dirty, func(at slot, _ bool) bool { return b.cut.excludes(at) })
	b.removeLater(b.stored)
}

func (b *pageBuilder) removeLater(partials partialSet) {
	maps.DeleteFunc(partials, func(at slot, p *Partial) bool {
		return b.cut.excludes(at) || b.cut.divides(at, p) && p.arrived.first >= b.cut.at
	})
}

// dividedSlots returns the hourly slots that must be recounted because of the cut.
func (b *pageBuilder) dividedSlots() map[slot]bool {
	slots := map[slot]bool{}
	for at, p := range b.hourly {
		if !b.dirty[at] && b.cut.divides(at, p) {
			slots[at] = true
		}
	}
	return slots
}

// recountDivided recounts slots from the readings that arrived before the cut, given the stored
// partials of their hours. It fails if readings of a divided slot are no longer stored. It also fails if
// a slot has corrections, and the readings of earlier arrival days are no longer all stored.
func (b *pageBuilder) recountDivided(ctx context.Context, slots map[slot]bool, stored partialSet, divided map[slot]bool) (map[slot]*Partial, error) {
	own := maps.Clone(slots)
	maps.DeleteFunc(own, func(at slot, _ bool) bool { return !divided[at] })
	scan := cutScan{
		at:    b.cut.at,
		early: newRecount(b.resent, tally{only: b.only}, slots, slots, stored),
		all:   newRecount(b.resent, tally{only: noFields}, own, slots, stored),
	}
	later := scan.early.replacing.removeLater(b.cut.at)
	if err := b.scanSlots(ctx, b.q.Series, slots, &scan); err != nil {
		return nil, err
	}
	if err := scan.all.finish(ctx); err != nil {
		return nil, fmt.Errorf("recount %s: %w", b.q.Series, err)
	}
	for at := range own {
		if scan.all.aggregates[at].total.sum.identity().readings == stored[at].identity().readings {
			continue
		}
		if err := b.checkUnmoved(ctx, divided); err != nil {
			return nil, err
		}
		return nil, errDeleted(at, 1)
	}
	if err := scan.early.finish(ctx); err != nil {
		return nil, fmt.Errorf("recount %s: %w", b.q.Series, err)
	}
	for at := range slots {
		if a := scan.early.aggregates[at]; a != nil && a.total.sum.uncorrected || later[at] && !scan.early.hasAllEarlier(at) {
			if err := b.checkUnmoved(ctx, divided); err != nil {
				return nil, err
			}
			return nil, errDeleted(at, 2)
		}
	}
	return scan.early.partials(), nil
}

// errDeleted returns the error for a slot that cannot be recounted as of a time, because readings are
// deleted. The slot cannot be recounted as of any time in the given number of days, which begin with
// its arrival day. The error names two times that need no recount: just before these days, and at
// their end.
func errDeleted(at slot, days int64) error {
	before, end := time.UnixMilli(at.arrival*dayMillis-1).UTC(), time.UnixMilli((at.arrival+days)*dayMillis-1).UTC()
	return varve.InvalidParam("as_of", "readings of %s that arrived that day are deleted: use %s or %s",
		Hourly.start(at.hour).Format(time.RFC3339), before.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano))
}

// cutScan passes copies to two recounts: all copies to one, and copies that arrived before a cut to
// the other.
type cutScan struct {
	at         int64 // the cut, in milliseconds since 1970
	early, all *recount
}

// Copy implements store.CopyScanner.
func (c *cutScan) Copy(x store.Copy) error {
	if x.Reading.Arrived.UnixMilli() < c.at {
		if err := c.early.Copy(x); err != nil {
			return err
		}
	}
	return c.all.Copy(x)
}

// Columns implements store.CopyScanner.
func (c *cutScan) Columns(p *block.Part) error {
	for from := p.From; from < p.To; {
		if p.Arrived[from] >= c.at {
			from++
			continue
		}
		to := from + 1
		for to < p.To && p.Arrived[to] < c.at {
			to++
		}
		if err := c.early.Columns(&block.Part{Block: p.Block, From: from, To: to}); err != nil {
			return err
		}
		from = to
	}
	return c.all.Columns(p)
}
