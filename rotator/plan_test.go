package rotator_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"pgregory.net/rapid"
)

// situation is a random policy, a time, and tables in random states.
type situation struct {
	policy rotator.Policy
	now    time.Time
	infos  []store.Info
}

var retentions = []time.Duration{time.Minute, time.Hour, 3 * day, 30 * day, 400 * day, retention.Forever}

func drawPolicy(t *rapid.T) rotator.Policy {
	hours := func(label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Hour
	}
	p := rotator.Policy{
		Grid: grid.Policy{
			Future: hours("future", 8*7*24), Recent: rapid.IntRange(0, 52).Draw(t, "recent"),
			Doubling: time.Duration(rapid.IntRange(0, 50*365).Draw(t, "doubling")) * day,
		},
		Retention: &retention.Policy{Prefix: "v", Classes: []retention.Class{
			{Name: retention.DefaultClass, Retention: rapid.SampledFrom(retentions).Draw(t, "keep")},
			{Name: "other", Retention: rapid.SampledFrom(retentions).Draw(t, "other keep")},
		}},
		Drop: rapid.Bool().Draw(t, "drop"), Seal: hours("seal", 7*24), Grace: hours("grace", 30*24), RecountGrace: hours("recount", 10*24),
		MonthsAhead: rapid.IntRange(0, 3).Draw(t, "months ahead"),
		MaxDrops:    rapid.IntRange(0, 12).Draw(t, "max drops"),
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p.WithDefaults()
}

func drawSituation(t *rapid.T) situation {
	s := situation{policy: drawPolicy(t)}
	s.now = time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "now"), 0).UTC()
	seen := map[grid.Table]bool{}
	for range rapid.IntRange(0, 60).Draw(t, "tables") {
		month := grid.MonthOf(s.now) + grid.Month(rapid.IntRange(-20, 1).Draw(t, "month"))
		ranges := s.policy.Grid.Ranges(month)
		in := store.Info{
			Table: grid.Table{
				Prefix: rapid.SampledFrom([]string{"v", "v", "v-other", "v-gone"}).Draw(t, "prefix"),
				Range:  rapid.SampledFrom(ranges).Draw(t, "range"), Month: month,
			},
			Status: store.Active, Owned: rapid.IntRange(0, 9).Draw(t, "owned") > 0,
			Tier: store.Tier(rapid.IntRange(1, 3).Draw(t, "tier")), Readings: rapid.Int64Range(0, 9).Draw(t, "readings"),
		}
		if rapid.Bool().Draw(t, "retired") {
			in.Retired = s.now.Add(-time.Duration(rapid.IntRange(0, 60*24).Draw(t, "hours ago")) * time.Hour)
		}
		if rapid.IntRange(0, 9).Draw(t, "hold") == 0 {
			in.Hold = "case 17"
		}
		if !seen[in.Table] {
			s.infos = append(s.infos, in)
		}
		seen[in.Table] = true
	}
	return s
}

// lastExpiry returns the expiry of the last reading that can be in a table. That reading arrived in
// the last millisecond of the month, and has the latest event time that the range and the policy
// allow.
func (s *situation) lastExpiry(in *store.Info) (time.Time, bool) {
	class, ok := s.policy.Retention.ClassOfPrefix(in.Prefix)
	if !ok || class.Retention == retention.Forever {
		return time.Time{}, false
	}
	arrived := in.Month.End().Add(-time.Millisecond)
	event := arrived.Add(s.policy.Grid.Future)
	if end := time.Unix(in.End, 0).Add(-1); event.After(end) {
		event = end
	}
	if event.Before(arrived) {
		event = arrived
	}
	return event.Add(class.Retention), true
}

// TestPlan_DropsExpiredTablesOnly draws policies and tables. A plan may retire a table only if all
// readings that can be in it have expired.
//
// A plan may drop a table only if drops are allowed. The table must be owned, retired, past its grace and
// minimum age, and not on hold. The number of drops must not exceed the limit, and the tables that were
// retired first must be dropped first.
func TestPlan_DropsExpiredTablesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		byTable := map[grid.Table]*store.Info{}
		for i := range s.infos {
			byTable[s.infos[i].Table] = &s.infos[i]
		}
		p := s.policy.Plan(s.now, s.infos)
		var dropped []time.Time
		for i, a := range p.Actions {
			if i > 0 && p.Actions[i-1].Kind > a.Kind {
				t.Fatalf("%s after %s", a.Kind, p.Actions[i-1].Kind)
			}
			in := byTable[a.Table]
			if a.Reason == "" || (a.Kind == rotator.Create) != (in == nil) {
				t.Fatalf("%s %s (there: %v), because %q", a.Kind, a.Table, in != nil, a.Reason)
			}
			if in == nil {
				continue
			}
			last, expires := s.lastExpiry(in)
			gone := expires && last.Before(s.now)
			switch {
			case !in.Owned:
				t.Fatalf("%s %s, which lacks the owner tag", a.Kind, a.Table)
			case a.Kind == rotator.Retire && (!gone || in.Hold != "" || !in.Retired.IsZero()):
				t.Fatalf("retire %s at %s: last %s, %+v", a.Table, s.now, last, in)
			case a.Kind == rotator.Restore && (in.Retired.IsZero() || gone && s.now.After(last.Add(9*day))):
				t.Fatalf("restore %s: %+v", a.Table, in)
			case a.Kind == rotator.Drop:
				if !gone || !s.policy.Drop || in.Hold != "" || in.Retired.IsZero() ||
					s.now.Before(in.Retired.Add(max(s.policy.Grace, s.policy.RecountGrace))) || s.now.Before(in.Month.End().Add(7*day)) {
					t.Fatalf("drop %s at %s: last %s, %+v", a.Table, s.now, last, in)
				}
				dropped = append(dropped, in.Retired)
			}
		}
		if len(dropped) > s.policy.MaxDrops || !slices.IsSortedFunc(dropped, time.Time.Compare) {
			t.Fatalf("drops %v, the cap is %d", dropped, s.policy.MaxDrops)
		}
		s.explained(t, &p)
	})
}

// explained checks that an expired table without an action is skipped with a reason.
func (s *situation) explained(t *rapid.T, p *rotator.Plan) {
	why, acted := map[grid.Table]string{}, map[grid.Table]rotator.Kind{}
	for _, k := range p.Skipped {
		if why[k.Table] != "" || k.Reason == "" {
			t.Fatalf("%s is kept because %q and %q", k.Table, why[k.Table], k.Reason)
		}
		why[k.Table] = k.Reason
	}
	var lastDropped time.Time
	for _, a := range p.Actions {
		acted[a.Table] = a.Kind
		if a.Kind == rotator.Drop {
			for _, in := range s.infos {
				if in.Table == a.Table {
					lastDropped = in.Retired
				}
			}
		}
	}
	for i := range s.infos {
		in := &s.infos[i]
		last, expires := s.lastExpiry(in)
		_, claimed := s.policy.Retention.ClassOfPrefix(in.Prefix)
		if living := !expires || last.After(s.now); living && claimed && in.Owned && !in.Retired.IsZero() && acted[in.Table] != rotator.Restore {
			t.Fatalf("%s can hold something alive and stays retired: %+v", in.Table, in)
		}
		if !claimed && (why[in.Table] == "" || acted[in.Table] != 0) {
			t.Fatalf("%s belongs to no class: %s, because %q", in.Table, acted[in.Table], why[in.Table])
		}
		old := expires && last.Add(7*day+2*day).Before(s.now) // the margin is two days, and a range may end up to a week after the last event time
		if old && why[in.Table] == "" && acted[in.Table] != rotator.Retire && acted[in.Table] != rotator.Drop {
			t.Fatalf("%s has expired and is left without a word: %+v", in.Table, in)
		}
		if strings.HasPrefix(why[in.Table], "one run drops at most") && in.Retired.Before(lastDropped) {
			t.Fatalf("%s was retired %s, before one that is dropped", in.Table, in.Retired)
		}
	}
}

// TestPlan_LeavesNothingToDo applies a plan. Afterward, all tables of this month and of the months
// ahead must exist. A second plan may only have the drops above the limit and the tuning of
// restored tables. Equal arguments must give equal plans, and planning must not change the
// arguments.
func TestPlan_LeavesNothingToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		before := slices.Clone(s.infos)
		p := s.policy.Plan(s.now, s.infos)
		if again := s.policy.Plan(s.now, s.infos); !reflect.DeepEqual(p, again) || !slices.Equal(before, s.infos) {
			t.Fatalf("planned twice:\n%+v\n%+v", p, again)
		}
		month := grid.MonthOf(s.now)
		wanted := 0
		for m := month + 1; m <= month+grid.Month(s.policy.MonthsAhead); m++ {
			wanted += len(s.policy.Grid.Ranges(m)) * len(s.policy.Retention.Classes)
		}
		if p.Ahead.Wanted != wanted || p.Tables != len(s.infos) {
			t.Fatalf("%d tables wanted ahead, want %d; tables %d, want %d", p.Ahead.Wanted, wanted, p.Tables, len(s.infos))
		}
		q := s.policy.Plan(s.now, carryOut(s.infos, &p, s.now))
		restored := map[grid.Table]bool{}
		for _, a := range p.Actions {
			restored[a.Table] = restored[a.Table] || a.Kind == rotator.Restore
		}
		for _, a := range q.Actions {
			if a.Kind == rotator.Tune && restored[a.Table] {
				continue
			}
			if a.Kind != rotator.Drop || p.Counts()[rotator.Drop] < s.policy.MaxDrops {
				t.Fatalf("after the plan, %s %s: %s", a.Kind, a.Table, a.Reason)
			}
		}
		unowned := 0
		for _, in := range s.infos {
			if in.Month > month && !in.Owned && in.Prefix != "v-gone" {
				unowned++
			}
		}
		if q.Ahead.Existing != wanted-unowned {
			t.Fatalf("%d tables are ready, want %d without the %d that are foreign", q.Ahead.Existing, wanted, unowned)
		}
	})
}

// carryOut returns the tables that exist after a plan is applied.
func carryOut(infos []store.Info, p *rotator.Plan, now time.Time) []store.Info {
	left := slices.Clone(infos)
	for _, a := range p.Actions {
		at := slices.IndexFunc(left, func(in store.Info) bool { return in.Table == a.Table })
		switch a.Kind {
		case rotator.Create:
			left = append(left, store.Info{Table: a.Table, Status: store.Active, Tier: a.Tier, Owned: true})
		case rotator.Tune:
			left[at].Tier = a.Tier
		case rotator.Restore:
			left[at].Retired = time.Time{}
		case rotator.Retire:
			left[at].Retired = now
		case rotator.Drop:
			left = slices.Delete(left, at, at+1)
		}
	}
	return left
}

// TestTableSchedule_MatchesDrop checks that a plan drops a retired table at the scheduled time
// and not before.
func TestTableSchedule_MatchesDrop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		s.policy.Drop, s.policy.MaxDrops = true, 1000
		for i := range s.infos {
			in := &s.infos[i]
			drops := s.policy.ScheduleOf(in).Drops
			if in.Retired.IsZero() || drops.IsZero() {
				continue
			}
			for _, at := range []time.Time{drops.Add(-time.Second), drops} {
				p := s.policy.Plan(at, s.infos[i:i+1])
				class, _ := s.policy.Retention.ClassOfPrefix(in.Prefix)
				expired := !at.Before(s.policy.RetireAt(in.Table, class.Retention))
				if want := expired && at.Equal(drops); (p.Counts()[rotator.Drop] == 1) != want {
					t.Fatalf("at %s, dropping is %v: %+v, drops at %s", at, !want, in, drops)
				}
			}
		}
	})
}
