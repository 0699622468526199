package alerts

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// run is readings of a series, one after the other, for which a rule's
// condition holds, and holds long enough. It is what an alert is about, and is
// noted in an item of its own, by rule and time.
type run struct {
	start  varve.Position  // the first of them
	opened varve.Position  // the first at which it has held long enough
	end    *varve.Position // the first position after it; nil: it goes on
	silent bool            // it ended by a gap: end is just after the gap had passed

	seen bool // start was read, and is not what a note says

	version varve.Value // of the note
	told    bool        // the alert says what the note says
	raised  raised      // of the reading at opened
	// said is what people said of alerts that this one takes the place of, in
	// whole or in part.
	said said
}

// afterGap returns the position at which an episode ends whose last reading has
// that time: just after the gap.
func afterGap(last int64, gap time.Duration) *varve.Position {
	return &varve.Position{Time: last + int64(gap) + 1, ID: firstID}
}

// firstID sorts before the ids of readings.
var firstID = varve.HashID(0)

// resolvedAt returns when an episode that is over ended.
func (r *run) resolvedAt() time.Time {
	if r.silent {
		return time.Unix(0, r.end.Time-1).UTC()
	}
	return instant(*r.end)
}

// raised is what an alert keeps of the reading that raised it.
type raised struct {
	value varve.Value
	late  bool
}

// covers reports whether a position lies in the run.
func (r *run) covers(p varve.Position) bool {
	return r.start.Compare(p) <= 0 && (r.end == nil || p.Compare(*r.end) < 0)
}

// equal reports whether two runs of one start are the same.
func (r *run) equal(q *run) bool {
	if r.opened != q.opened || r.silent != q.silent || (r.end == nil) != (q.end == nil) {
		return false
	}
	return r.end == nil || *r.end == *q.end
}

// inherit takes over what people said of the alert of a recorded episode; nil if
// it has none. Of an episode that is cut, only what had opened by then is resolved
// by hand: who resolved the alert did not know of what opened later, and had the
// reading that cuts been there, that would have been an alert of its own.
func (r *run) inherit(k *run, old *Alert) {
	from := k.said
	if old != nil {
		from = old.said()
		from.add(k.said)
	}
	if !r.covers(k.start) && from.resolved.Before(instant(r.opened)) {
		from.resolved = time.Time{}
	}
	r.said.add(from)
}

// runPrefix begins the sort keys of a rule's notes about a series.
func runPrefix(rule *Rule, s varve.Series) string { return "RUN#" + rule.name() + "/" + s.Stream + "#" }

func positionText(p varve.Position) string { return hexTime(p.Time) + "#" + p.ID.String() }

// hexTime returns a time in nanoseconds as text of a fixed width, which sorts as
// times from 1970 on do.
func hexTime(nanos int64) string {
	if nanos < 0 {
		return fmt.Sprintf("%016x", nanos)
	}
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(nanos))
	return hex.EncodeToString(raw[:])
}

func parsePosition(text string) (p varve.Position, err error) {
	at, id, _ := strings.Cut(text, "#")
	if p.Time, err = strconv.ParseInt(at, 16, 64); err == nil {
		p.ID, err = varve.ParseID(id)
	}
	return p, err
}

func (r *run) key(rule *Rule, s varve.Series) store.Key {
	return store.Key{PK: registry.DevicePK(s.Tenant, s.Device), SK: runPrefix(rule, s) + positionText(r.start)}
}

// usualAttrs is how many attributes the record of an episode usually has.
const usualAttrs = 8

func (r *run) item(rule *Rule, s varve.Series) store.Item {
	it := store.Item{Key: r.key(rule, s), Attrs: make(map[string]varve.Value, usualAttrs)}
	it.Attrs["version"] = varve.IntValue(registry.Int(r.version) + 1)
	registry.PutText(it.Attrs, "opened", positionText(r.opened))
	if r.end != nil {
		registry.PutText(it.Attrs, "end", positionText(*r.end))
	}
	if r.told {
		it.Attrs["told"] = varve.BoolValue(true)
	}
	if r.raised.late {
		it.Attrs["late"] = varve.BoolValue(true)
	}
	if !r.raised.value.IsZero() {
		it.Attrs["value"] = r.raised.value
	}
	if r.silent {
		it.Attrs["silent"] = varve.BoolValue(true)
	}
	r.said.put(it.Attrs, "byHand")
	return it
}

func runOf(it *store.Item, prefix string) (r run, err error) {
	if r.start, err = parsePosition(strings.TrimPrefix(it.SK, prefix)); err == nil {
		r.opened, err = parsePosition(it.Attrs["opened"].Text())
	}
	if text := it.Attrs["end"].Text(); text != "" && err == nil {
		var end varve.Position
		end, err = parsePosition(text)
		r.end = &end
	}
	if err != nil {
		return r, fmt.Errorf("item %s %s: %w", it.PK, it.SK, err)
	}
	a := registry.NewReader(it)
	r.said, r.silent = saidOf(a, "byHand"), it.Attrs["silent"].Bool()
	r.version, r.told = it.Attrs["version"], it.Attrs["told"].Bool()
	r.raised = raised{value: it.Attrs["value"], late: it.Attrs["late"].Bool()}
	return r, a.Err()
}

// notes returns noted runs whose starts lie in [from, to), both as in sort
// keys, at most limit of them if that is not 0.
func (m *Monitor) notes(ctx context.Context, rule *Rule, s varve.Series, from, to string, o varve.Order, limit int) (runs []run, err error) {
	prefix := runPrefix(rule, s)
	q := store.ItemQuery{PK: registry.DevicePK(s.Tenant, s.Device), From: prefix + from, To: prefix + to, Order: o, Limit: limit, Consistent: true}
	if to == "" {
		q.To = store.PrefixEnd(prefix)
	}
	for {
		page, err := m.opts.Items.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read the runs of rule %s: %w", rule.ID, err)
		}
		for i := range page.Items {
			r, err := runOf(&page.Items[i], prefix)
			if err != nil {
				return nil, err
			}
			runs = append(runs, r)
		}
		if !page.More || limit > 0 {
			return runs, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// behind is the least sort key beyond a position's.
func behind(p varve.Position) string { return positionText(p) + "\x00" }
