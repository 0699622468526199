package alerts_test

import (
	"fmt"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The tests write alerts as text, such as "0-10-30 31-41-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in minutes after noon. The third part is empty if the alert is open. A
// log such as "11: 0-10- | 30: 0-10-30" shows all alerts at minute 11 and at minute 30, because they
// changed at these minutes. See world.minutes and world.checks.

// other returns another process, whose clock is ahead by the given time.
func (w *world) other(ahead time.Duration) *alerts.Monitor {
	o := w.options
	o.Holder = "other"
	o.Now = func() time.Time { return w.now().Add(ahead) }
	f, _ := w.process(o)
	w.t.Cleanup(f.Close)
	return f
}

// checksBy lets another process check the deadman rules once a minute.
func (w *world) checksBy(f *alerts.Monitor, minutes int) {
	w.t.Helper()
	for range minutes {
		w.advance(time.Minute)
		must(w.t, f.CheckDeadman(w.t.Context()))
	}
}

// TestDeadman_ResolvesAlertOpenedByPeer checks that a process resolves an alert that another
// process opened. The device states of the resolving process do not have the alert.
func TestDeadman_ResolvesAlertOpenedByPeer(t *testing.T) {
	for _, r := range []alerts.Rule{silent("", 10*time.Minute), silent("", time.Minute), {Kind: alerts.Deadman, For: time.Minute, Severity: alerts.Info}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(r)
			w.send(reading("d", noon))
			if got := w.checks(1, nil); got != "" {
				t.Fatal(got)
			}
			other, held := w.other(0), int(r.For/time.Minute)
			w.checksBy(other, held+3)
			if got, want := w.minutes(), fmt.Sprintf("0-%d-", held); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			other.Close()
			got := w.checks(3, func(minute int) {
				if minute == 1 {
					w.send(reading("d", w.now()))
				}
			})
			want := fmt.Sprintf("1: 0-%d-%d", held, held+5)
			if got, _, _ := strings.Cut(got, " | "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestDeadman_ResolvesAlertOpenedByFastClock ends a process with a fast clock after it has opened an
// alert too early. The device states of the next process have no open alert. That process must still
// resolve the alert. It must do so at its first check after a stop of the first process, and at its
// third check after a kill.
func TestDeadman_ResolvesAlertOpenedByFastClock(t *testing.T) {
	for _, c := range []struct {
		stopped bool
		want    string
	}{{true, "1: 20-30-24"}, {false, "3: 20-30-24"}} {
		for _, ahead := range []time.Duration{8 * time.Minute, 10 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.rule(silent("", 10*time.Minute))
				w.send(reading("d", noon))
				reports := func(minute int) {
					if minute%4 == 0 {
						w.send(reading("d", w.now()))
					}
				}
				if got := w.checks(20, reports); got != "" {
					t.Fatal(got)
				}
				other := w.other(ahead)
				w.checksBy(other, 3)
				if got := w.minutes(); got != "20-30-" {
					t.Fatalf("%q: it was to be opened early", got)
				}
				if c.stopped {
					other.Close()
				}
				if got := w.checks(60, func(minute int) { reports(minute + 3) }); got != c.want {
					t.Errorf("%s ahead: %s, want %s", ahead, got, c.want)
				}
			})
		}
	}
}

// TestDeadman_StaysWithCheckingProcess lets two processes check every minute, in either order. The
// process that checked first must keep the lease. After it is closed, the other one must check
// immediately.
func TestDeadman_StaysWithCheckingProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ctx := newWorld(t), t.Context()
		w.rule(silent("", 10*time.Minute))
		var all []varve.Reading
		for i := range 100 {
			all = append(all, reading(fmt.Sprint("d", i), noon))
		}
		other := w.other(0)
		for minute := range 30 {
			w.send(all...)
			synctest.Wait()
			two := []*alerts.Monitor{w.Monitor, other}
			if minute%3 == 1 {
				two[0], two[1] = two[1], two[0]
			}
			queries := w.items.Queries
			for _, f := range two {
				must(t, f.CheckDeadman(ctx))
				w.advance(time.Second)
			}
			// Each process queries the rules, and only the holder of the lease queries the 16 partitions of
			// devices.
			if n := w.items.Queries - queries; minute > 1 && n > 18 {
				t.Errorf("minute %d: %d queries", minute, n)
			}
			w.advance(58 * time.Second)
		}
		w.Close()
		w.advance(20 * time.Minute)
		must(t, other.CheckDeadman(ctx))
		if n := len(w.alerts(alerts.AlertList{Limit: 1000})); n != 100 {
			t.Errorf("%d alerts", n)
		}
	})
}

// TestDeadman_RereadsTablesAfterTakeover covers a device that existed when the rule was added, and has
// sent nothing to the rule's stream. After a takeover, the new process must read the tables for
// this device once. For devices that were registered after the rule, no process may read the tables.
func TestDeadman_RereadsTablesAfterTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		elsewhere := func(device string) {
			r := reading(device, w.now())
			r.Stream = "other"
			w.send(r)
			synctest.Wait()
		}
		elsewhere("early")
		w.rule(silent("", 10*time.Minute))
		w.advance(11 * time.Minute)
		for i := range 50 {
			elsewhere(fmt.Sprint("d", i))
		}
		w.checks(3, nil)
		w.Close()
		if w.tableReads != 1 {
			t.Errorf("the tables were read %d times", w.tableReads)
		}
		other := w.other(0)
		w.checksBy(other, 3)
		if w.tableReads != 2 {
			t.Errorf("the tables were read %d times, in the end", w.tableReads)
		}
		one := []varve.Reading{reading("d7", w.now())}
		must(t, other.Observe(t.Context(), w.now(), one, w.store(one)))
		synctest.Wait()
		w.checksBy(other, 12)
		if n := len(w.alerts(alerts.AlertList{})); n != 1 || w.tableReads != 2 {
			t.Errorf("%d alerts, the tables were read %d times", n, w.tableReads)
		}
	})
}
