package rotator

import (
	"cmp"
	"fmt"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
	"slices"
	"time"
)

// Kind is the kind of an action. Actions are applied in the order of their kinds.
type Kind uint8

// The kinds of actions.
const (
	Create  Kind = iota + 1 // create a table
	Tune                    // set the tier of a table
	Restore                 // make a retired table active, because it may contain readings that are not expired
	Retire                  // mark a table for deletion, because all readings that can be in it have expired
	Drop                    // delete a retired table
)

func (k Kind) String() string {
	switch k {
	case Create:
		return "create"
	case Tune:
		return "tune"
	case Restore:
		return "restore"
	case Retire:
		return "retire"
	case Drop:
		return "drop"
	default:
		return "nothing"
	}
}

// Action is a planned change of one table.
type Action struct {
	Kind     Kind
	Table    grid.Table
	Tier     store.Tier // for Create and Tune, the tier that the table gets
	Retired  time.Time  // time at which the table was retired, if it is retired
	Reason   string
	Readings int64
	Bytes    int64
}

// Skipped is a table on which an operator may expect an action, but the plan has none.
type Skipped struct {
	Table    grid.Table
	Reason   string
	Readings int64
	Bytes    int64
}

// Plan lists the actions of one run.
type Plan struct {
	Now     time.Time
	Actions []Action
	Skipped []Skipped
	Tables  int        // number of existing tables
	Current TableCount // tables of the current arrival month
	Ahead   TableCount // tables of the next Policy.MonthsAhead arrival months
}

// TableCount has the number of existing tables and the number of tables that should exist.
type TableCount struct{ Existing, Wanted int }

// Missing returns how many of the wanted tables do not exist.
func (c TableCount) Missing() int { return c.Wanted - c.Existing }

// Plan returns the actions that are due. The argument "tables" must be listed with
// store.Filter.Details. Plan is a pure function.
func (p Policy) Plan(now time.Time, tables []store.Info) Plan {
	plan := p.planAll(now, tables)
	plan.limitDrops(p.WithDefaults().MaxDrops, nil)
	return plan
}

// planAll is like Plan, but has all drops that are due.
func (p Policy) planAll(now time.Time, tables []store.Info) Plan {
	now = now.UTC()
	b := builder{Policy: p.WithDefaults(), plan: Plan{Now: now, Tables: len(tables)}, existing: map[grid.Table]*store.Info{}}
	for i := range tables {
		b.existing[tables[i].Table] = &tables[i]
	}
	for _, c := range p.Retention.Classes {
		for m := grid.MonthOf(now); m <= grid.MonthOf(now)+grid.Month(b.MonthsAhead); m++ {
			b.planCreation(c, m)
		}
	}
	for i := range tables {
		b.planTable(&tables[i])
	}
	slices.SortStableFunc(b.plan.Actions, func(a, c Action) int {
		return cmp.Or(cmp.Compare(a.Kind, c.Kind), a.Retired.Compare(c.Retired))
	})
	return b.plan
}

type builder struct {
	Policy
	plan     Plan
	existing map[grid.Table]*store.Info
}

func (b *builder) add(kind Kind, in *store.Info, tier store.Tier, format string, args ...any) {
	b.plan.Actions = append(b.plan.Actions, Action{
		Kind: kind, Table: in.Table, Tier: tier, Retired: in.Retired, Reason: fmt.Sprintf(format, args...),
		Readings: in.Readings, Bytes: in.Bytes,
	})
}

func (b *builder) skip(in *store.Info, format string, args ...any) {
	b.plan.Skipped = append(b.plan.Skipped, Skipped{Table: in.Table, Reason: fmt.Sprintf(format, args...), Readings: in.Readings, Bytes: in.Bytes})
}

func (b *builder) planCreation(c retention.Class, m grid.Month) {
	ahead := m > grid.MonthOf(b.plan.Now)
	count := &b.plan.Current
	if ahead {
		count = &b.plan.Ahead
	}
	for _, r := range b.Grid.Ranges(m) {
		t := grid.Table{Prefix: b.Retention.TablePrefix(c.Name), Range: r, Month: m}
		in := b.existing[t]
		count.Wanted++
		if in != nil && in.Owned && in.Status != store.Creating {
			count.Existing++
		}
		// An interrupted run may have left a table that is still being created. So plan its creation
		// once more.
		if in != nil && !(in.Owned && in.Status == store.Creating) {
			continue
		}
		why := "for readings that arrive this month"
		if ahead {
			why = fmt.Sprintf("for readings that arrive from %s on", m.Start().Format(time.DateOnly))
		}
		b.add(Create, &store.Info{Table: t}, b.TierOf(t, b.plan.Now), "%s", why)
	}
}

func (b *builder) planTable(in *store.Info) {
	class, ok := b.Retention.ClassOfPrefix(in.Prefix)
	switch {
	case !ok:
		b.skip(in, reasonNoClass)
		return
	case !in.Owned:
		b.skip(in, "owner tag is missing: the table is left as it is")
		return
	case in.Status == store.Creating:
		return
	}
	if want := b.TierOf(in.Table, b.plan.Now); in.Tier != want && in.Retired.IsZero() && (in.Hold != "" || !b.expired(in, class)) {
		b.add(Tune, in, want, "%s", tuneReason(want, in.Tier))
	}
	b.planExpiry(in, class)
}

// reasonNoClass is the reason for skipping a table whose prefix belongs to no configured class.
const reasonNoClass = "no class is configured for its prefix"

func reasonOnHold(why string) string { return "it is on hold: " + why }

// expired reports whether all readings that can be in a table have expired.
func (b *builder) expired(in *store.Info, class retention.Class) bool {
	due := b.RetireAt(in.Table, class.Retention)
	return !due.IsZero() && !b.plan.Now.Before(due)
}

func tuneReason(want, is store.Tier) string {
	switch want {
	case store.Cold:
		return fmt.Sprintf("from %s to cold: sealed, it receives no more readings", is)
	case store.Hot:
		return fmt.Sprintf("from %s to hot: it receives current readings", is)
	default:
		return fmt.Sprintf("from %s to %s: it receives late readings only", is, want)
	}
}

// planExpiry plans to restore, retire or drop a table, if that is due.
func (b *builder) planExpiry(in *store.Info, class retention.Class) {
	due, expired := b.RetireAt(in.Table, class.Retention), b.expired(in, class)
	switch {
	case !expired && !in.Retired.IsZero():
		b.add(Restore, in, 0, "class %s keeps its readings until %s", class.Name, dateOr(due, "forever"))
	case !expired:
	case in.Hold != "":
		b.skip(in, "%s", reasonOnHold(in.Hold))
	case in.Retired.IsZero():
		b.add(Retire, in, 0, "all it can hold has expired: arrival month %s, class %s keeps %s",
			in.Month, class.Name, timefmt.FormatDuration(class.Retention))
	default:
		b.planDrop(in)
	}
}

func dateOr(t time.Time, other string) string {
	if t.IsZero() {
		return other
	}
	return t.UTC().Format(time.DateOnly)
}

// planDrop plans the drop of a retired table, or skips the table with a reason.
func (b *builder) planDrop(in *store.Info) {
	now := b.plan.Now
	switch {
	case now.Before(in.Retired.Add(b.Grace)):
		b.skip(in, "retired on %s, can be restored for %s", dateOr(in.Retired, ""), timefmt.FormatDuration(b.Grace))
	case now.Before(in.Retired.Add(b.RecountGrace)):
		b.skip(in, "retired on %s, roll-ups may need it for %s", dateOr(in.Retired, ""), timefmt.FormatDuration(b.RecountGrace))
	case now.Before(in.Month.End().Add(minAge)):
		b.skip(in, "its arrival month ended less than a week ago")
	case !b.Drop:
		b.skip(in, "it could be dropped, but retention.drop is false")
	default:
		b.add(Drop, in, 0, "retired on %s, %s of grace have passed", dateOr(in.Retired, ""), timefmt.FormatDuration(b.retiredTime()))
	}
}

// limitDrops removes the drops above a limit. The tables that were retired first are dropped first, but
// tables whose last drop has failed come after all others.
func (p *Plan) limitDrops(limit int, failed map[grid.Table]bool) {
	var first, last []grid.Table
	for _, a := range p.Actions {
		switch {
		case a.Kind != Drop:
		case failed[a.Table]:
			last = append(last, a.Table)
		default:
			first = append(first, a.Table)
		}
	}
	why := map[grid.Table]string{}
	for _, t := range slices.Concat(first, last)[min(limit, len(first)+len(last)):] {
		why[t] = fmt.Sprintf("one run drops at most %d tables: the next run continues", limit)
	}
	p.skipActions(why)
}

// skipHeld removes the retirements and drops of tables that were put on hold after the plan was
// made.
func (p *Plan) skipHeld(held map[grid.Table]string) {
	why := map[grid.Table]string{}
	for t, reason := range held {
		why[t] = reasonOnHold(reason)
	}
	p.skipActions(why)
}

// skipActions removes the retirements and drops of some tables, and lists these tables as skipped. The
// argument "why" maps them to their reasons.
func (p *Plan) skipActions(why map[grid.Table]string) {
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool {
		reason, ok := why[a.Table]
		ok = ok && (a.Kind == Retire || a.Kind == Drop)
		if ok {
			p.Skipped = append(p.Skipped, Skipped{Table: a.Table, Reason: reason, Readings: a.Readings, Bytes: a.Bytes})
		}
		return ok
	})
}

// Counts returns the number of actions of each kind.
func (p *Plan) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, a := range p.Actions {
		counts[a.Kind]++
	}
	return counts
}
