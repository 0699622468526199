package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// silent is a deadman rule about stream weather.
func silent(device string, held time.Duration) alerts.Rule {
	return alerts.Rule{Kind: alerts.Deadman, Stream: "weather", Device: device, For: held, Severity: alerts.Critical}
}

// looks lets minutes pass, and returns at which ones the alerts of device d were
// others than before, and which; before each look, each is called.
func (w *world) looks(minutes int, each func(minute int)) string {
	w.t.Helper()
	var log []string
	last := w.minutes()
	for minute := 1; minute <= minutes; minute++ {
		w.advance(time.Minute)
		if each != nil {
			each(minute)
		}
		synctest.Wait() // until what was seen is written
		must(w.t, w.CheckDeadman(w.t.Context()))
		if got := w.minutes(); got != last {
			log = append(log, fmt.Sprintf("%d: %s", minute, got))
			last = got
		}
	}
	return strings.Join(log, " | ")
}

// TestSeenInStream: when a device was last seen in a stream is noted for the
// streams and devices of deadman rules that are in force, once a minute however
// much is sent, and for no others.
func TestSeenInStream(t *testing.T) {
	for _, c := range []struct {
		reason string
		rules  []alerts.Rule
		want   int // writes in three minutes, of two devices
	}{
		{"no rule", nil, 0},
		{"about a value", []alerts.Rule{above(5, 0)}, 0},
		{"about all streams", []alerts.Rule{{Kind: alerts.Deadman, For: time.Hour, Severity: alerts.Info}}, 0},
		{"about the stream", []alerts.Rule{silent("", time.Hour)}, 2 * 3},
		{"about one device", []alerts.Rule{silent("d", time.Hour)}, 3},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for _, r := range c.rules {
					w.rule(r)
				}
				for range 3 {
					for range 20 {
						other := reading("d", w.now())
						other.Stream = "other"
						w.send(other, reading("d", w.now()), reading("e", w.now()))
						synctest.Wait()
						w.advance(3 * time.Second)
					}
				}
				if got, other := w.items.Puts("#SEEN#weather"), w.items.Puts("#SEEN#other"); got != c.want || other != 0 {
					t.Errorf("%d writes for weather, want %d; %d for the other", got, c.want, other)
				}
			})
		})
	}
}

// TestSentAgain: a device that sends the same again and again is not silent, nor
// is one whose request goes on and on: what counts is when readings are written.
func TestSentAgain(t *testing.T) {
	for _, r := range []alerts.Rule{silent("", 2*time.Minute), silent("d", 2*time.Minute), {Kind: alerts.Deadman, For: 2 * time.Minute, Severity: alerts.Info}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(r)
			w.send(reading("d", noon))
			got := w.looks(30, func(minute int) {
				if minute < 20 {
					w.send(reading("d", noon))
				}
			})
			if got != "22: 19-21-" {
				t.Errorf("%s of %q: %s", r.String(), r.Stream, got)
			}
		})
	}
}

// TestNewRuleAboutStream: what a device sent before a rule made that be noted is
// found in the tables: it is told of late by as much as a request may take, never
// early, and never of a device that has sent nothing in the stream. They are
// asked once.
func TestNewRuleAboutStream(t *testing.T) {
	for _, c := range []struct {
		reason string
		before time.Duration // that it has sent, before the rule is made
		want   string
	}{
		{"a moment ago", 0, "25: 0-10-"},
		{"long ago", 3 * time.Hour, "2: -180--170-"},
		{"as if about to be told", 24 * time.Minute, "2: -24--14-"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				other := reading("e", noon)
				other.Stream = "other"
				w.advance(-c.before)
				w.send(reading("d", noon), other)
				w.advance(c.before)
				w.rule(silent("", 10*time.Minute))
				if got := w.looks(40, nil); got != c.want {
					t.Errorf("%s\nwant %s", got, c.want)
				}
				if n := len(w.alerts(alerts.AlertList{})); n != 1 || w.asked != 2 {
					t.Errorf("%d alerts, the tables were asked %d times", n, w.asked)
				}
			})
		})
	}
}

// TestSilenceOfARuleMadeAgain: between two rules about a stream, when devices are
// seen in it is not noted; what was noted under the first one does not make a
// device silent.
func TestSilenceOfARuleMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := silent("", 10*time.Minute)
		r.ID = "quiet"
		w.rule(r)
		got := w.looks(90, func(minute int) {
			switch minute {
			case 30:
				must(t, w.DeleteRule(t.Context(), tenant, "quiet"))
			case 60:
				w.send(reading("d", w.now()))
				w.rule(r)
				return
			}
			if minute <= 60 {
				w.send(reading("d", w.now()))
			}
		})
		if got != "85: 60-70-" { // a quarter of an hour late, as of what came before the rule
			t.Error(got)
		}
	})
}

// TestRuleMadeAgainAtOnce: what was remembered under a rule does not count for
// the next one of its id, even if no look falls in between.
func TestRuleMadeAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		r := silent("", 10*time.Minute)
		r.ID = "quiet"
		w.rule(r)
		w.looks(30, nil)
		must(t, w.DeleteRule(t.Context(), tenant, "quiet"))
		w.advance(10 * time.Second)
		w.send(reading("d", w.now()))
		w.rule(r)
		if got := w.looks(60, nil); !strings.HasSuffix(got, " 30-40-") {
			t.Error(got)
		}
	})
}

// TestRuleOfAClockBehind: a rule that says that it was made earlier than it was
// does not make believe that what was seen before it was all noted.
func TestRuleOfAClockBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := silent("", 10*time.Minute)
		r.ID = "quiet"
		w.rule(r)
		w.send(reading("d", noon))
		synctest.Wait()
		must(t, w.DeleteRule(t.Context(), tenant, "quiet"))
		w.advance(5 * time.Minute)
		w.send(reading("d", w.now()))
		o := w.options
		o.Now = func() time.Time { return w.now().Add(-9 * time.Minute) }
		behind, _ := w.process(o)
		defer behind.Close()
		r.Tenant = tenant
		_, _, err := behind.AddRule(t.Context(), r)
		must(t, err)
		if got := w.looks(30, nil); got != "25: 5-15-" {
			t.Error(got)
		}
	})
}

// TestAnotherStreamIsNoSign: a device that has only sent in another stream than
// the rule's is not known to the rule, and not told of.
func TestAnotherStreamIsNoSign(t *testing.T) {
	for _, device := range []string{"", "d"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(silent(device, 10*time.Minute))
			got := w.looks(60, func(int) {
				other := reading("d", w.now())
				other.Stream = "other"
				w.send(other)
			})
			if got != "" || w.asked != 1 {
				t.Errorf("%s; the tables were asked %d times", got, w.asked)
			}
		})
	}
}

// TestLookCutOff: what a look could not write to its end, the next one does,
// also of a device that has been heard of since.
func TestLookCutOff(t *testing.T) {
	for _, prefix := range []string{"RUN#", "ALERT#"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(silent("", 10*time.Minute))
			w.send(reading("d", noon))
			w.looks(15, nil)
			w.send(reading("d", w.now()))
			synctest.Wait()
			w.items.FailWrites(registrytest.FailOn(prefix))
			if err := w.CheckDeadman(t.Context()); err == nil {
				t.Error("it failed, and nothing is told")
			}
			w.items.FailWrites(nil)
			if got := w.looks(2, nil); got != "1: 0-10-15" {
				t.Errorf("%s: %s", prefix, got)
			}
		})
	}
}

// TestLooksCostLittle: of devices that are heard of all the time, a look reads
// when they were seen, together, and nothing else, also where a rule is as short
// as can be; nor of devices that are silent and told of, or were never heard of
// in the stream.
func TestLooksCostLittle(t *testing.T) {
	for _, r := range []alerts.Rule{silent("", time.Minute), silent("", time.Hour), {Kind: alerts.Deadman, For: time.Minute, Severity: alerts.Info}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(r)
			var all []varve.Reading
			for i := range 200 {
				all = append(all, reading(fmt.Sprint("d", i), noon))
			}
			if r.Stream != "" {
				other := reading("never", noon)
				other.Stream = "other"
				all = append(all, other)
			}
			expect := func(what string) {
				queries, gets, asked := w.items.Queries, w.items.Gets, w.asked
				must(t, w.CheckDeadman(t.Context()))
				// The rules and 16 partitions of devices; the lease and when they were seen.
				if q, g, a := w.items.Queries-queries, w.items.Gets-gets, w.asked-asked; q > 17 || g > 2 || a > 0 {
					t.Errorf("%s of %q, %s: %d queries, %d reads, the tables %d times", r.String(), r.Stream, what, q, g, a)
				}
			}
			for minute := range 10 {
				w.advance(time.Duration(50+minute%3*10) * time.Second)
				w.send(all...)
				synctest.Wait()
				if minute < 2 {
					must(t, w.CheckDeadman(t.Context()))
					continue
				}
				expect("heard of")
			}
			for range 3 {
				w.advance(2 * time.Hour)
				must(t, w.CheckDeadman(t.Context()))
			}
			if n := len(w.alerts(alerts.AlertList{Severity: r.Severity, Limit: 1000})); n != 200 {
				t.Fatalf("%d alerts", n)
			}
			expect("silent")
		})
	}
}

// TestListsLagBehind: a list that does not show yet that a device was seen makes
// it no silent one.
func TestListsLagBehind(t *testing.T) {
	for _, r := range []alerts.Rule{silent("", 2*time.Minute), {Kind: alerts.Deadman, For: 2 * time.Minute, Severity: alerts.Info}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(r)
			w.items.Lagging = func(items []store.Item) {
				for i := range items {
					if strings.HasPrefix(items[i].SK, "#SEEN") {
						items[i].Attrs = map[string]varve.Value{"lastSeenAt": varve.StringValue(noon.Format("2006-01-02T15:04:05.000000000Z"))}
					}
				}
			}
			w.send(reading("d", noon))
			if got := w.looks(20, func(int) { w.send(reading("d", w.now())) }); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestSomeCannotBeLookedAt: a device that cannot be looked at keeps no other from
// it, and is told of; where none can, the look gives up.
func TestSomeCannotBeLookedAt(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	r := w.rule(alerts.Rule{Kind: alerts.Deadman, For: 10 * time.Minute, Severity: alerts.Info})
	for i := range 50 {
		_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: fmt.Sprint("d", i)}, w)
		must(t, err)
	}
	w.advance(time.Hour)
	tried := map[string]bool{}
	w.items.FailWrites(func(k store.Key) error {
		if strings.HasPrefix(k.SK, "RUN#") {
			w.mu.Lock()
			defer w.mu.Unlock()
			tried[k.PK] = true
			return registrytest.ErrDisk
		}
		return nil
	})
	err := w.CheckDeadman(ctx)
	if n := len(tried); err == nil || n > 20 || !strings.Contains(err.Error(), fmt.Sprintf(" (and %d devices more)", n-1)) {
		t.Errorf("%d of 50 were tried: %v", n, err)
	}
	w.items.FailWrites(func(k store.Key) error {
		if k.PK == "DEVICE#default/d7" {
			return registrytest.ErrDisk
		}
		return nil
	})
	if err := w.CheckDeadman(ctx); err == nil || !strings.Contains(err.Error(), r.ID+": device d7: ") || strings.Contains(err.Error(), "more") {
		t.Error(err)
	}
	if n := len(w.alerts(alerts.AlertList{Limit: 1000})); n != 49 {
		t.Errorf("%d alerts", n)
	}
}
