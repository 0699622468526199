package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// change writes where the episodes that there should be differ from those that
// are recorded, and reports whether they do.
//
// What an episode takes over from others is in its first record: whoever goes on
// after an evaluation that was cut off may not find those others as they were.
//
// The record of an episode is written before its alert, and once more after it;
// what is to be gone goes alert first. So there is no alert without a record, and
// wherever this is cut off, a record says so and the next evaluation goes on.
func (e *evaluation) change(ctx context.Context, should []run) (changed bool, err error) {
	slices.SortFunc(should, func(a, b run) int { return a.start.Compare(b.start) })
	gone := e.gone(should)
	differ := e.differ(should, gone)
	if len(differ) == 0 && len(gone) == 0 {
		return false, e.deleteOrphans(ctx, should)
	}
	if e.m.atomic != nil {
		err = e.writeAtOnce(ctx, differ, gone)
	} else {
		err = e.write(ctx, differ, gone)
	}
	if errors.Is(err, store.ErrCondition) {
		// Another process was first: the next try tells if what it wrote is right. An
		// alert may have been written over in between.
		for _, r := range append(differ, gone...) {
			e.lost[r.start] = true
		}
		return true, nil
	}
	for _, r := range append(differ, gone...) {
		delete(e.lost, r.start)
	}
	return true, err
}

// write writes the episodes that differ, and deletes those that are gone. New
// ones that share no time with others are written many at once.
func (e *evaluation) write(ctx context.Context, differ, gone []run) error {
	var alone, rest []run
	for _, r := range differ {
		if r.version.IsZero() && len(e.known.sharing(&r)) == 0 {
			alone = append(alone, r)
		} else {
			rest = append(rest, r)
		}
	}
	for i := range rest {
		if err := e.inherit(ctx, &rest[i]); err != nil {
			return err
		}
		if err := e.record(ctx, &rest[i], false); err != nil {
			return err
		}
	}
	for i := range rest {
		if err := e.raise(ctx, &rest[i]); err != nil {
			return err
		}
	}
	for i := range gone {
		if err := e.drop(ctx, &gone[i]); err != nil {
			return err
		}
	}
	for i := range rest {
		if err := e.record(ctx, &rest[i], true); err != nil {
			return err
		}
	}
	return e.publishEach(ctx, alone)
}

// deleteOrphans withdraws alerts that this evaluation has written of episodes
// that another process has found to be none.
func (e *evaluation) deleteOrphans(ctx context.Context, should []run) error {
	for start := range e.lost {
		r := run{start: start, opened: start}
		notes, err := e.m.opts.Items.Get(ctx, []store.Key{r.key(e.rule, e.series)}, true)
		if err != nil {
			return err
		}
		if len(notes) > 0 || startsAt(should, start) {
			continue
		}
		if err := e.withdraw(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// differ returns the episodes of which something is to be written: those that
// are not recorded, or otherwise, and those that are not published.
func (e *evaluation) differ(should, gone []run) (differ []run) {
	for _, r := range should {
		old := e.known.at(r.start)
		switch {
		case old == nil:
		case r.equal(old) && old.told && !e.lost[r.start]:
			continue
		default:
			r.version, r.said = old.version, old.said
		}
		if differ == nil {
			differ = make([]run, 0, len(should))
		}
		differ = append(differ, r)
	}
	for _, k := range e.known.runs {
		// One that is not published, and begins where no reading is left, is as it was
		// recorded; one whose readings are stored is found from them.
		expired := !k.told && !e.alive[k.start] && k.start.Compare(e.hi) <= 0
		if (expired || e.lost[k.start]) && !startsAt(should, k.start) && !startsAt(gone, k.start) {
			differ = append(differ, k)
		}
	}
	// What is new goes first, from its end: an episode that is cut is not shortened
	// before the rest of it is recorded.
	slices.SortFunc(differ, func(a, b run) int { return cmp.Or(cmp.Compare(known(&a), known(&b)), b.start.Compare(a.start)) })
	return differ
}

// known returns 1 for an episode that is recorded, else 0.
func known(r *run) int {
	if r.version.IsZero() {
		return 0
	}
	return 1
}

// startsAt reports whether one of the episodes, in the order of time, begins
// there.
func startsAt(runs []run, start varve.Position) bool {
	_, found := slices.BinarySearchFunc(runs, start, func(r run, p varve.Position) int { return r.start.Compare(p) })
	return found
}

// record writes an episode's record over the one that is known of it.
func (e *evaluation) record(ctx context.Context, r *run, told bool) error {
	cond := store.IfAbsent()
	if !r.version.IsZero() {
		cond = store.IfEquals("version", r.version)
	}
	r.told = told
	it := r.item(e.rule, e.series)
	if err := e.m.opts.Items.Put(ctx, it, cond); err != nil {
		return fmt.Errorf("record an episode of rule %s: %w", e.rule.ID, err)
	}
	r.version = it.Attrs["version"]
	return nil
}

// gone returns the known episodes that are none any more: those at lo that have
// become too short, those that lie in one that begins earlier, and those whose
// first reading is stored and begins none. Of an episode whose readings are
// deleted, the record is all that is left.
func (e *evaluation) gone(should []run) (gone []run) {
	line := timelineOf(should...)
	for _, k := range e.known.runs {
		if startsAt(should, k.start) {
			continue
		}
		short := k.covers(e.lo) && k.start != e.lo
		if short || line.covering(k.start) != nil || e.alive[k.start] && k.start.Compare(e.hi) <= 0 {
			gone = append(gone, k)
		}
	}
	return gone
}

// loadInside adds the recorded episodes to those that are known that lie behind
// hi in an episode that there should be, and reports whether one of them goes on
// beyond its end.
func (e *evaluation) loadInside(ctx context.Context, should []run) (beyond bool, err error) {
	if len(should) == 0 {
		return false, nil
	}
	last, to := &should[len(should)-1], ""
	if last.end != nil {
		if last.end.Compare(e.hi) <= 0 {
			return false, nil
		}
		to = positionText(*last.end)
	}
	notes, err := e.m.notes(ctx, e.rule, e.series, behind(e.hi), to, varve.Ascending, 0)
	if err != nil {
		return false, err
	}
	runs := e.known.runs
	for i := range notes {
		if e.known.at(notes[i].start) == nil {
			runs = append(runs, notes[i])
			beyond = beyond || last.end != nil && notes[i].covers(*last.end)
		}
	}
	e.known = timelineOf(runs...)
	return beyond, nil
}

// alert returns an episode's alert. What was resolved by hand stays so in what
// had come of it by then.
func (e *evaluation) alert(r *run) Alert {
	a := Alert{
		Tenant: e.series.Tenant, Device: e.series.Device, Stream: e.series.Stream,
		ID: alertID(e.rule, e.series, r.start), Rule: e.rule.ID, Severity: e.rule.Severity, Message: e.message,
		Value: r.raised.value, Since: instant(r.start), OpenedAt: instant(r.opened), Late: r.raised.late,
		Acknowledged: r.said.acknowledged, MutedUntil: r.said.mutedUntil, incarnation: e.rule.incarnation,
	}
	switch {
	case !r.said.resolved.IsZero():
		a.ResolvedAt, a.ResolvedBy = r.said.resolved, ByHand
	case r.silent:
		a.ResolvedAt, a.ResolvedBy = r.resolvedAt(), ByGap
	case r.end != nil:
		a.ResolvedAt, a.ResolvedBy = r.resolvedAt(), ByCondition
	}
	return a
}

// raise writes an episode's alert.
func (e *evaluation) raise(ctx context.Context, r *run) error {
	a := e.alert(r)
	if err := e.m.raise(ctx, a); err != nil {
		return fmt.Errorf("write alert %s: %w", a.ID, err)
	}
	return nil
}

func instant(p varve.Position) time.Time { return time.Unix(0, p.Time).UTC() }

// inherit lets an episode take over what people said of the alerts of known ones
// that it shares time with.
func (e *evaluation) inherit(ctx context.Context, r *run) error {
	for _, k := range e.known.sharing(r) {
		old, _, err := e.m.alert(ctx, e.series.Tenant, e.series.Device, alertID(e.rule, e.series, k.start))
		if err != nil {
			return err
		}
		r.inherit(k, old)
	}
	return nil
}

// drop withdraws an episode's alert, and deletes its record, which says in
// between that there is no such alert.
func (e *evaluation) drop(ctx context.Context, r *run) error {
	if r.told {
		if err := e.record(ctx, r, false); err != nil {
			return err
		}
	}
	if err := e.withdraw(ctx, r); err != nil {
		return err
	}
	if err := e.m.opts.Items.Delete(ctx, r.key(e.rule, e.series), store.IfEquals("version", r.version)); err != nil {
		return fmt.Errorf("delete the record of an episode of rule %s: %w", e.rule.ID, err)
	}
	return nil
}

// withdraw lets the id of an episode's alert lead to what takes its place.
func (e *evaluation) withdraw(ctx context.Context, r *run) error {
	id := alertID(e.rule, e.series, r.start)
	err := e.m.withdraw(ctx, e.series.Tenant, e.series.Device, id, e.rule.incarnation, extent{start: r.start, opened: r.opened})
	if err != nil {
		return fmt.Errorf("withdraw alert %s: %w", id, err)
	}
	return nil
}
