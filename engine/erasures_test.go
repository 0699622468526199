package engine_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/store"
)

var erasureSeeds = flag.Uint64("erasures", 3, "number of random worlds in which data is erased")

// TestErasure_DeletesTargetAlone erases random targets while the store fails and the process is
// restarted. Afterward, the target must have no data, all other data must be unchanged, and roll-ups must
// equal a recount.
func TestErasure_DeletesTargetAlone(t *testing.T) {
	for seed := range *erasureSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newErasing(t, seed)
				if seed%2 == 0 {
					wait(3 * time.Hour) // roll-ups are stored
				}
				target := w.target()
				covers := func(stream string, at time.Time) bool {
					return (target.Stream == "" || target.Stream == stream) && target.Window.Contains(at)
				}
				w.store.fail = true
				begun := w.erase(target)
				want := map[string][]string{}
				for _, d := range erasingDevices {
					for _, s := range erasingStreams {
						want[d+" "+s] = w.lines(d, s, func(at, _ time.Time) bool { return d != target.Device || !covers(s, at) })
					}
					if d != target.Device {
						want[d] = w.derived(d)
					}
				}
				if seed%3 == 0 {
					w.reopen()
				}
				r := w.ended(begun.ID, erasures.Done)
				w.store.fail = false
				for _, d := range erasingDevices {
					for _, s := range erasingStreams {
						if got := w.lines(d, s, func(_, _ time.Time) bool { return true }); !slices.Equal(got, want[d+" "+s]) {
							t.Errorf("device %s, stream %s: %d readings, want %d", d, s, len(got), len(want[d+" "+s]))
						}
					}
					got := w.derived(d)
					if d != target.Device && !slices.Equal(got, want[d]) {
						t.Errorf("device %s: %q, want %q", d, got, want[d])
					}
					if recount := w.recount(d); !slices.Equal(rollupLines(got), recount) {
						t.Errorf("roll-ups of device %s: %q, want %q", d, rollupLines(got), recount)
					}
				}
				if r.Ended.IsZero() || r.By != "key" || r.Passes < 2 || len(r.Planned) == 0 && len(r.Erased) > 0 {
					t.Errorf("record %+v", r)
				}
				after, err := w.Erasures.Plan(t.Context(), target)
				if err != nil || len(after.Tables) > 0 || after.Alerts+after.Logs+after.Rejects+after.Records > 0 || after.Registration {
					t.Errorf("plan afterwards: %+v, %v", after, err)
				}
				wait(3 * time.Hour) // roll-ups are stored once more
				if got, want := rollupLines(w.derived(target.Device)), w.recount(target.Device); !slices.Equal(got, want) {
					t.Errorf("roll-ups at rest: %q, want %q", got, want)
				}
			})
		})
	}
}

// TestErasure_LeavesHeldTables erases a device while one of its tables is on hold. The readings on hold
// must stay until the hold is released, and must be erased then.
func TestErasure_LeavesHeldTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newErasing(t, 1)
		target := erasures.Target{Tenant: varve.DefaultTenant, Device: "a", Window: varve.AllTime()}
		p, err := w.Erasures.Plan(t.Context(), target)
		if err != nil || len(p.Tables) < 2 || !p.Registration {
			t.Fatalf("plan %+v, %v", p, err)
		}
		infos, err := w.Store.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime()})
		if err != nil {
			t.Fatal(err)
		}
		hold := func(reason string) {
			for _, in := range infos {
				if in.Name() == p.Tables[0].Table {
					if err := w.Store.Hold(t.Context(), in.Table, reason); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		hold("trial")
		begun := w.erase(target)
		r := w.ended(begun.ID, erasures.Held)
		held, rest := int64(0), int64(0)
		for _, c := range r.Holds {
			if c.Table != p.Tables[0].Table || c.Hold != "trial" {
				t.Errorf("held %+v", c)
			}
			held += c.Readings
		}
		for _, c := range p.Tables {
			if c.Table == p.Tables[0].Table {
				rest += c.Readings
			}
		}
		if held == 0 || held != rest {
			t.Errorf("%d readings are held, want %d", held, rest)
		}
		if n := w.countAll("a"); n != held {
			t.Errorf("%d readings are left, want %d", n, held)
		}
		hold("")
		w.ended(begun.ID, erasures.Done)
		if n := w.countAll("a"); n != 0 {
			t.Errorf("%d readings are left", n)
		}
		if lines := w.derived("a"); len(lines) > 0 {
			t.Errorf("left: %q", lines)
		}
	})
}

func (w *erasing) countAll(device string) (n int64) {
	for _, s := range erasingStreams {
		n += int64(len(w.lines(device, s, func(_, _ time.Time) bool { return true })))
	}
	return n
}

// TestErasure_KeepsReadingsAfterPlan sends readings between the plan and the erasure, and during
// the erasure. These readings must stay, although the target covers their event times.
func TestErasure_KeepsReadingsAfterPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newErasing(t, 3)
		target := erasures.Target{Tenant: varve.DefaultTenant, Device: "a", Stream: "power", Window: varve.AllTime()}
		p, err := w.Erasures.Plan(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		wait(time.Hour)
		w.send(50)
		want := w.lines("a", "power", func(_, arrived time.Time) bool { return arrived.After(p.Arrived) })
		r, err := w.BeginErasure(t.Context(), target, p.Digest(), "")
		if err != nil || len(want) == 0 {
			t.Fatal(err, len(want))
		}
		w.ended(r.ID, erasures.Done)
		if got := w.lines("a", "power", func(_, _ time.Time) bool { return true }); !slices.Equal(got, want) {
			t.Errorf("%d readings are left, want %d", len(got), len(want))
		}
		if got, want := rollupLines(w.derived("a")), w.recount("a"); !slices.Equal(got, want) {
			t.Errorf("roll-ups %q, want %q", got, want)
		}
	})
}

// TestErasure_RefusesOtherPlans begins erasures with digests of other plans or of outdated plans,
// and without a digest. Each of them must be refused.
func TestErasure_RefusesOtherPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newErasing(t, 4)
		target := erasures.Target{Tenant: varve.DefaultTenant, Device: "a", Window: varve.AllTime()}
		p, err := w.Erasures.Plan(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		other := target
		other.Device = "ab"
		for name, c := range map[string]struct {
			target erasures.Target
			digest string
			want   varve.Failure
		}{
			"no plan":      {target, "", varve.Invalid},
			"not a digest": {target, "#", varve.Invalid},
			"other device": {other, p.Digest(), varve.Conflict},
			"other digest": {target, p.Digest() + "0", varve.Conflict},
			"part of hour": {erasures.Target{Tenant: "default", Device: "a", Window: varve.Window{From: w.begun.Add(time.Minute), To: w.begun.Add(time.Hour)}}, p.Digest(), varve.Invalid},
		} {
			if _, err := w.BeginErasure(t.Context(), c.target, c.digest, ""); varve.FailureOf(err) != c.want {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		later := p
		later.Arrived = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, err := w.BeginErasure(t.Context(), target, later.Digest(), ""); varve.FailureOf(err) != varve.Conflict ||
			!strings.Contains(err.Error(), "plan: was made at 2100-01-01T00:00:00Z, after the present time: request a new plan") {
			t.Errorf("plan of the future: %v", err)
		}
		wait(25 * time.Hour)
		if _, err := w.BeginErasure(t.Context(), target, p.Digest(), ""); varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "is older than 24h") {
			t.Errorf("old plan: %v", err)
		}
		if list, err := w.Erasures.List(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("records %+v, %v", list, err)
		}
	})
}
