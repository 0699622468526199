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

// Kind is what an action does. Kinds are carried out in this order.
type Kind uint8

// The kinds of action.
const (
	Create  Kind = iota + 1 // make a table
	Tune                    // set its tier
	Restore                 // unmark it
	Retire                  // mark it: all it can hold has expired
	Drop                    // delete it
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

// Action is one step of a plan.
type Action struct {
	Kind     Kind
	Table    grid.Table
	Tier     store.Tier // of Create and Tune
	Retired  time.Time  // when it was, of Drop
	Reason   string
	Readings int64
	Bytes    int64
}

// Kept is a table that one might expect a plan to act on, and that it leaves
// alone.
type Kept struct {
	Table    grid.Table
	Reason   string
	Readings int64
	Bytes    int64
}

// Plan is what a run of the rotator would do.
type Plan struct {
	Now     time.Time
	Actions []Action
	Kept    []Kept
	Tables  int // there are now
	// Ready is how many of the next month's tables there are now, and Needed
	// how many there should be.
	Ready, Needed int
	// Missing is how many of this month's tables there are not, or are somebody
	// else's.
	Missing int
}

// Plan returns what is to be done now about the tables there are, which come
// with details. It is a pure function.
func (p Policy) Plan(now time.Time, tables []store.Info) Plan {
	now = now.UTC()
	b := builder{Policy: p.WithDefaults(), plan: Plan{Now: now, Tables: len(tables)}, there: map[grid.Table]*store.Info{}}
	for i := range tables {
		b.there[tables[i].Table] = &tables[i]
	}
	for _, c := range p.Retention.Classes {
		month := grid.MonthOf(now)
		b.create(c, month)
		b.create(c, month+1)
	}
	for i := range tables {
		b.keep(&tables[i])
	}
	b.limitDrops()
	slices.SortStableFunc(b.plan.Actions, func(a, c Action) int { return cmp.Compare(a.Kind, c.Kind) })
	return b.plan
}

// builder builds a plan.
type builder struct {
	Policy
	plan  Plan
	there map[grid.Table]*store.Info
}

func (b *builder) add(kind Kind, in *store.Info, tier store.Tier, format string, args ...any) {
	b.plan.Actions = append(b.plan.Actions, Action{
		Kind: kind, Table: in.Table, Tier: tier, Retired: in.Retired, Reason: fmt.Sprintf(format, args...),
		Readings: in.Readings, Bytes: in.Bytes,
	})
}

func (b *builder) leave(in *store.Info, format string, args ...any) {
	b.plan.Kept = append(b.plan.Kept, Kept{Table: in.Table, Reason: fmt.Sprintf(format, args...), Readings: in.Readings, Bytes: in.Bytes})
}

// create plans the tables of a class and write month that are missing.
func (b *builder) create(c retention.Class, m grid.Month) {
	ahead := m > grid.MonthOf(b.plan.Now)
	for _, r := range b.Grid.Layout(m) {
		t := grid.Table{Prefix: b.Retention.TablePrefix(c.Name), Range: r, Month: m}
		in := b.there[t]
		if ahead {
			b.plan.Needed++
			if in != nil && in.Owned && in.Status != store.Creating {
				b.plan.Ready++
			}
		}
		if !ahead && (in == nil || !in.Owned || in.Status == store.Creating) {
			b.plan.Missing++
		}
		if in != nil && !(in.Owned && in.Status == store.Creating) { // whose making was cut off
			continue
		}
		why := "readings that arrive this month need it"
		if ahead {
			why = fmt.Sprintf("readings that arrive from %s on will need it", m.Start().Format(time.DateOnly))
		}
		b.add(Create, &store.Info{Table: t}, b.TierOf(t, b.plan.Now), "%s", why)
	}
}

// keep plans what becomes of one table.
func (b *builder) keep(in *store.Info) {
	class, ok := b.Retention.ClassOfPrefix(in.Prefix)
	switch {
	case !ok:
		b.leave(in, unclaimed)
		return
	case !in.Owned:
		b.leave(in, "it does not carry the owner tag: it is not touched")
		return
	case in.Status == store.Creating:
		return
	}
	if want := b.TierOf(in.Table, b.plan.Now); in.Tier != want && in.Retired.IsZero() && (in.Hold != "" || !b.expired(in, class)) {
		b.add(Tune, in, want, "%s", tuneReason(want, in.Tier))
	}
	b.age(in, class)
}

// unclaimed is why nothing is done with a table that no class's prefix has.
const unclaimed = "no class is configured for its prefix"

func onHold(why string) string { return "it is on hold: " + why }

// expired reports whether all that a table can hold has.
func (b *builder) expired(in *store.Info, class retention.Class) bool {
	due := b.RetireAt(in.Table, class.Retention)
	return !due.IsZero() && !b.plan.Now.Before(due)
}

func tuneReason(want, is store.Tier) string {
	switch want {
	case store.Cold:
		return fmt.Sprintf("from %s to cold: sealed, nothing can be written to it any more", is)
	case store.Hot:
		return fmt.Sprintf("from %s to hot: it takes the readings of now", is)
	default:
		return fmt.Sprintf("from %s to %s: its readings are late by now", is, want)
	}
}

// age plans the retiring, restoring and dropping of a table.
func (b *builder) age(in *store.Info, class retention.Class) {
	due, expired := b.RetireAt(in.Table, class.Retention), b.expired(in, class)
	switch {
	case !expired && !in.Retired.IsZero():
		b.add(Restore, in, 0, "class %s keeps its readings until %s", class.Name, dateOr(due, "forever"))
	case !expired:
	case in.Hold != "":
		b.leave(in, "%s", onHold(in.Hold))
	case in.Retired.IsZero():
		b.add(Retire, in, 0, "all it can hold has expired: written in %s, class %s keeps %s",
			in.Month, class.Name, timefmt.FormatDuration(class.Retention))
	default:
		b.drop(in)
	}
}

func dateOr(t time.Time, other string) string {
	if t.IsZero() {
		return other
	}
	return t.UTC().Format(time.DateOnly)
}

// drop plans the dropping of a retired table.
func (b *builder) drop(in *store.Info) {
	now := b.plan.Now
	switch {
	case now.Before(in.Retired.Add(b.Grace)):
		b.leave(in, "retired on %s, kept for %s in case it is wanted back", dateOr(in.Retired, ""), timefmt.FormatDuration(b.Grace))
	case now.Before(in.Retired.Add(b.RecountGrace)):
		b.leave(in, "retired on %s, kept for %s until all that arrived before is surely counted", dateOr(in.Retired, ""), timefmt.FormatDuration(b.RecountGrace))
	case now.Before(in.Month.End().Add(floor)):
		b.leave(in, "it is younger than a week past its month")
	case !b.Drop:
		b.leave(in, "it could be dropped, but retention.drop is false")
	default:
		b.add(Drop, in, 0, "retired on %s, and %s of grace are over", dateOr(in.Retired, ""), timefmt.FormatDuration(b.stay()))
	}
}

// limitDrops leaves the drops beyond the cap to later runs, the longest retired
// first.
func (b *builder) limitDrops() {
	drops := 0
	slices.SortStableFunc(b.plan.Actions, func(x, y Action) int {
		return b.retired(x.Table).Compare(b.retired(y.Table))
	})
	b.plan.Actions = slices.DeleteFunc(b.plan.Actions, func(a Action) bool {
		if a.Kind != Drop {
			return false
		}
		drops++
		if drops <= b.MaxDrops {
			return false
		}
		b.leave(b.there[a.Table], "one run drops at most %d tables: left to the next", b.MaxDrops)
		return true
	})
}

func (b *builder) retired(t grid.Table) time.Time {
	if in := b.there[t]; in != nil {
		return in.Retired
	}
	return time.Time{}
}

// spare turns the steps that came too late for tables' holds into kept tables.
func (p *Plan) spare(held map[grid.Table]string) {
	why := map[grid.Table]string{}
	for t, reason := range held {
		why[t] = onHold(reason)
	}
	p.keep(why)
}

// keep turns the retiring and dropping of tables into kept tables, with reasons.
func (p *Plan) keep(why map[grid.Table]string) {
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool {
		reason, ok := why[a.Table]
		ok = ok && (a.Kind == Retire || a.Kind == Drop)
		if ok {
			p.Kept = append(p.Kept, Kept{Table: a.Table, Reason: reason, Readings: a.Readings, Bytes: a.Bytes})
		}
		return ok
	})
}

// Counts returns how many actions of each kind there are.
func (p *Plan) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, a := range p.Actions {
		counts[a.Kind]++
	}
	return counts
}
