package rollup

import (
	"context"
	"fmt"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// rest is partials at rest, of hours or of days, put together from their items.
// Those of dirty slots may lack parts.
type rest map[slot]*Partial

// take takes an item, in the order of the keys, with its wanted fields.
func (m rest) take(it *store.Item, at slot, part int64, only wanted) (err error) {
	if part == 0 {
		m[at], err = parsePartial(it, only)
		return err
	}
	if p := m[at]; p != nil {
		return p.parsePart(it, part, only)
	}
	return nil
}

// whole fails if parts of a partial were not there. They are, of all that is not
// dirty: else something is damaged.
func (p *Partial) whole() error {
	if p.read == p.parts {
		return nil
	}
	return fmt.Errorf("of its partial, part %d of %d is missing", p.read+1, p.parts)
}

// hours returns the partials of a span's hours, with the wanted fields.
func (r *records) hours(ctx context.Context, s varve.Series, h span, only wanted) (rest, error) {
	found := rest{}
	q := store.ItemQuery{PK: pkOf(s), From: hourFrom(h.from), To: hourFrom(h.to), Consistent: true}
	err := r.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err != nil {
			return err
		}
		return found.take(it, at, part, only)
	})
	return found, err
}

// hourFrom is where the partials from an hour on begin, and dayFrom those from a
// day on.
func dayFrom(day int64) string { return "D#" + dayText(day) }

func hourFrom(hour int64) string { return fmt.Sprintf("H#%010d", hour*hourSeconds) }
