package fleet

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

// change writes where the runs that there should be differ from those that are
// known, and reports whether they do.
//
// What a run takes over from others is in its first note: whoever goes on behind
// a look that was cut off may not find those others as they were.
//
// The note of a run is written before its alert, and once more behind it; what
// is to be gone goes alert first. So there is no alert without a note, and
// wherever this is cut off, a note says so and the next look goes on.
func (l *look) change(ctx context.Context, should []run) (changed bool, err error) {
	gone := l.gone(should)
	differ := l.differ(should, gone)
	if len(differ) == 0 && len(gone) == 0 {
		return false, l.mend(ctx, should)
	}
	err = l.write(ctx, differ, gone)
	if errors.Is(err, store.ErrCondition) {
		// Somebody else was first: the next look tells if what that one wrote is
		// right. An alert may have been written over in between.
		for _, r := range append(differ, gone...) {
			l.lost[r.start] = true
		}
		return true, nil
	}
	for _, r := range append(differ, gone...) {
		delete(l.lost, r.start)
	}
	return true, err
}

// write writes the runs that differ, and deletes those that are gone.
func (l *look) write(ctx context.Context, differ, gone []run) error {
	for i := range differ {
		if err := l.inherit(ctx, &differ[i]); err != nil {
			return err
		}
		if err := l.note(ctx, &differ[i], false); err != nil {
			return err
		}
	}
	for i := range differ {
		if err := l.raise(ctx, &differ[i]); err != nil {
			return err
		}
	}
	for i := range gone {
		if err := l.drop(ctx, &gone[i]); err != nil {
			return err
		}
	}
	for i := range differ {
		if err := l.note(ctx, &differ[i], true); err != nil {
			return err
		}
	}
	return nil
}

// mend deletes alerts that this look has written of runs that another process
// has found to be none.
func (l *look) mend(ctx context.Context, should []run) error {
	for start := range l.lost {
		r := run{start: start}
		notes, err := l.f.opts.Items.Get(ctx, []store.Key{r.key(l.rule, l.series)}, true)
		if err != nil {
			return err
		}
		if len(notes) > 0 || among(should, start) {
			continue
		}
		id := alertID(l.rule, l.series, start)
		if err := l.f.opts.Items.Delete(ctx, alertKey(l.series.Tenant, l.series.Device, id)); err != nil {
			return fmt.Errorf("delete alert %s: %w", id, err)
		}
	}
	return nil
}

// differ returns the runs of which something is to be written: those that are
// not noted, or otherwise, and those of which a look that was cut off has not
// told.
func (l *look) differ(should, gone []run) (differ []run) {
	for _, r := range should {
		old := l.noted(r.start)
		switch {
		case old == nil:
			r.raised.late = r.raised.late || l.beyond
		case r.equal(old) && old.told && !l.lost[r.start]:
			continue
		default:
			r.version, r.raised.late, r.byHand = old.version, old.raised.late, old.byHand
		}
		differ = append(differ, r)
	}
	for _, k := range l.known {
		// One that is not told, and begins where no reading is left, is as it was
		// noted; one whose readings are there is found by a look at them.
		expired := !k.told && !l.alive[k.start] && k.start.Compare(l.hi) <= 0
		if (expired || l.lost[k.start]) && !among(should, k.start) && !among(gone, k.start) {
			differ = append(differ, k)
		}
	}
	// What is new goes first, from its end: a run that is cut is not shortened
	// before the rest of it is noted.
	slices.SortFunc(differ, func(a, b run) int { return cmp.Or(cmp.Compare(known(&a), known(&b)), b.start.Compare(a.start)) })
	return differ
}

// known returns 1 for a run that is noted, else 0.
func known(r *run) int {
	if r.version.IsZero() {
		return 0
	}
	return 1
}

// among reports whether there is a run of that start.
func among(runs []run, start varve.Position) bool {
	return slices.ContainsFunc(runs, func(r run) bool { return r.start == start })
}

// note writes a run's note over the one that is known of it.
func (l *look) note(ctx context.Context, r *run, told bool) error {
	cond := store.IfAbsent()
	if !r.version.IsZero() {
		cond = store.IfEquals("version", r.version)
	}
	r.told = told
	it := r.item(l.rule, l.series)
	if err := l.f.opts.Items.Put(ctx, it, cond); err != nil {
		return fmt.Errorf("note a run of rule %s: %w", l.rule.ID, err)
	}
	r.version = it.Attrs["version"]
	return nil
}

// noted returns the known run of a start.
func (l *look) noted(start varve.Position) *run {
	for i := range l.known {
		if l.known[i].start == start {
			return &l.known[i]
		}
	}
	return nil
}

// gone returns the known runs that are none any more: those at lo that have
// become too short, those that lie in a run that begins earlier, and those whose
// first reading is there and begins no run. Of a run whose readings have
// expired, the note is all that is left.
func (l *look) gone(should []run) (gone []run) {
	for _, k := range l.known {
		if among(should, k.start) {
			continue
		}
		short := k.covers(l.lo) && k.start != l.lo
		inside := slices.ContainsFunc(should, func(r run) bool { return r.covers(k.start) })
		if short || inside || l.alive[k.start] && k.start.Compare(l.hi) <= 0 {
			gone = append(gone, k)
		}
	}
	return gone
}

// reach adds the runs to those known that lie behind hi in a run that there
// should be.
func (l *look) reach(ctx context.Context, should []run) error {
	if len(should) == 0 {
		return nil
	}
	last, to := &should[len(should)-1], ""
	if last.end != nil {
		if last.end.Compare(l.hi) <= 0 {
			return nil
		}
		to = positionText(*last.end)
	}
	notes, err := l.f.notes(ctx, l.rule, l.series, behind(l.hi), to, varve.Ascending, 0)
	if err != nil {
		return err
	}
	for i := range notes {
		if l.noted(notes[i].start) == nil {
			l.known = append(l.known, notes[i])
		}
	}
	return nil
}

// raise writes a run's alert. What was resolved by hand stays so in what had
// come of it by then.
func (l *look) raise(ctx context.Context, r *run) error {
	a := Alert{
		Tenant: l.series.Tenant, Device: l.series.Device, Stream: l.series.Stream,
		ID: alertID(l.rule, l.series, r.start), Rule: l.rule.ID, Severity: l.rule.Severity, Message: l.rule.String(),
		Value: r.raised.value, Since: instant(r.start), OpenedAt: instant(r.opened), Late: r.raised.late,
	}
	switch {
	case !r.byHand.IsZero():
		a.ResolvedAt, a.ResolvedBy = r.byHand, ByHand
	case r.end != nil:
		a.ResolvedAt, a.ResolvedBy = instant(*r.end), ByCondition
	}
	if err := l.f.raise(ctx, a); err != nil {
		return fmt.Errorf("write alert %s: %w", a.ID, err)
	}
	return nil
}

func instant(p varve.Position) time.Time { return time.Unix(0, p.Time).UTC() }

// inherit lets a run take over from the alerts of known runs that it shares time
// with: it was raised when they were, and resolved by hand if they were. Of a run
// that is cut, that goes for what had opened by then: who resolved the alert did
// not know of what opened later, and had the reading that cuts been there, that
// would have been an alert of its own.
func (l *look) inherit(ctx context.Context, r *run) error {
	for i := range l.known {
		k := &l.known[i]
		if k.start == r.start || !k.covers(r.start) && !r.covers(k.start) {
			continue
		}
		old, _, err := l.f.alert(ctx, l.series.Tenant, l.series.Device, alertID(l.rule, l.series, k.start))
		if err != nil {
			return err
		}
		longer := r.covers(k.start)
		if longer && old != nil {
			r.raised.late = r.raised.late && old.Late
		}
		by := k.byHand
		if old != nil && old.ResolvedBy == ByHand {
			by = old.ResolvedAt
		}
		if !by.IsZero() && (longer || !by.Before(instant(r.opened))) {
			r.byHand = by
		}
	}
	return nil
}

// drop deletes a run's alert, and then its note, which says in between that
// there is no such alert.
func (l *look) drop(ctx context.Context, r *run) error {
	if r.told {
		if err := l.note(ctx, r, false); err != nil {
			return err
		}
	}
	id := alertID(l.rule, l.series, r.start)
	if err := l.f.opts.Items.Delete(ctx, alertKey(l.series.Tenant, l.series.Device, id)); err != nil {
		return fmt.Errorf("delete alert %s: %w", id, err)
	}
	if err := l.f.opts.Items.Delete(ctx, r.key(l.rule, l.series), store.IfEquals("version", r.version)); err != nil {
		return fmt.Errorf("delete the note of alert %s: %w", id, err)
	}
	return nil
}
