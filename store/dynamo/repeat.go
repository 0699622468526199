package dynamo

import (
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// without gives those entries their verdict that a row holds already, and
// returns the others.
func (g *group) without(entries []entry, r *row) (rest []entry, err error) {
	for _, e := range entries {
		if !r.keys[e.key] {
			rest = append(rest, e)
		} else if err := g.compare(&e, r); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// compare gives an entry its verdict that a row holds already. Only one with an
// id of its own is compared with what the row holds.
func (g *group) compare(e *entry, r *row) error {
	if !e.reading.HasOwnID() {
		*e.verdict = varve.Verdict{Outcome: varve.Duplicate}
		return nil
	}
	stored, err := r.reading(g.series, g.ms, e.key)
	if err != nil {
		return fmt.Errorf("compare %s with the stored reading: %w", e.reading, err)
	}
	if *e.verdict = store.Repeat(e.reading, &stored); e.verdict.Outcome != varve.Duplicate {
		if g.stored == nil {
			g.stored = map[string]*varve.Reading{}
		}
		g.stored[e.key] = &stored
	}
	return nil
}

// compareTwins gives entries their verdict whose key another one before them has.
// That one was stored, or is compared with what is.
func (g *group) compareTwins() {
	first := map[string]*varve.Reading{}
	for i := range g.entries {
		e := &g.entries[i]
		switch {
		case e.verdict.Outcome != 0:
			first[e.key] = e.reading
		case g.stored[e.key] != nil:
			*e.verdict = store.Repeat(e.reading, g.stored[e.key])
		default:
			*e.verdict = store.Repeat(e.reading, first[e.key])
		}
	}
}

// contents returns the hashes of a row's readings, by key, for ids that do not
// stand for one.
func (r *row) contents() contents {
	c := make(contents, len(r.keys))
	for key := range r.keys {
		c[key] = 0
		_, id, _ := parseRowKey(key)
		if _, hashed := id.Hash(); hashed || !r.whole {
			continue
		}
		if reading, err := r.reading(varve.Series{}, 0, key); err == nil { // else the row tells, when it is asked
			c[key], _ = reading.ContentID().Hash()
		}
	}
	return c
}

// settle reports whether the entries' verdicts are known without asking the row:
// those that it holds are duplicates for certain.
func (c contents) settle(entries []entry) bool {
	for i := range entries {
		hash, there := c[entries[i].key]
		if !there {
			continue
		}
		content := entries[i].reading.ContentID()
		if sent, _ := content.Hash(); content != entries[i].reading.ID && (hash == 0 || hash != sent) {
			return false
		}
	}
	return true
}

// without marks those entries as duplicates that the row holds, and returns the
// others.
func (c contents) without(entries []entry) (rest []entry) {
	for _, e := range entries {
		if _, there := c[e.key]; there {
			*e.verdict = varve.Verdict{Outcome: varve.Duplicate}
		} else {
			rest = append(rest, e)
		}
	}
	return rest
}
