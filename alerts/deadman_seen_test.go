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

// The tests write alerts as text, such as "0-10-30 31-41-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in minutes after noon. The third part is empty if the alert is open. A
// log such as "11: 0-10- | 30: 0-10-30" shows all alerts at minute 11 and at minute 30, because they
// changed at these minutes. See world.minutes and world.checks.

// silent returns a deadman rule on stream weather.
func silent(device string, held time.Duration) alerts.Rule {
	return alerts.Rule{Kind: alerts.Deadman, Stream: "weather", Device: device, For: held, Severity: alerts.Critical}
}

// checks runs CheckDeadman once a minute. Before each run, it calls the function "each", unless that is
// nil. It returns the alerts of device d after every minute in which they changed.
func (w *world) checks(minutes int, each func(minute int)) string {
	w.t.Helper()
	var log []string
	last := w.minutes()
	for minute := 1; minute <= minutes; minute++ {
		w.advance(time.Minute)
		if each != nil {
			each(minute)
		}
		synctest.Wait() // wait until last-seen times are written
		must(w.t, w.CheckDeadman(w.t.Context()))
		if got := w.minutes(); got != last {
			log = append(log, fmt.Sprintf("%d: %s", minute, got))
			last = got
		}
	}
	return strings.Join(log, " | ")
}

// TestObserve_RecordsLastSeenForDeadmanRules checks that last-seen times in a stream are recorded
// once a minute. This must happen only for the streams and devices of deadman rules in force.
func TestObserve_RecordsLastSeenForDeadmanRules(t *testing.T) {
	for _, c := range []struct {
		reason string
		rules  []alerts.Rule
		want   int // number of writes of last-seen times for two devices in three minutes
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

// TestDeadman_CountsDuplicatesAsReports checks that resent readings end a silence, because the time
// of the write counts.
func TestDeadman_CountsDuplicatesAsReports(t *testing.T) {
	for _, r := range []alerts.Rule{silent("", 2*time.Minute), silent("d", 2*time.Minute), {Kind: alerts.Deadman, For: 2 * time.Minute, Severity: alerts.Info}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(r)
			w.send(reading("d", noon))
			got := w.checks(30, func(minute int) {
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

// TestNewDeadmanRule_ReadsTablesOnce checks that earlier readings are found in the tables, once.
// The alert may open late by the length of a request, but never early. No alert may open for a
// device without readings in the stream.
func TestNewDeadmanRule_ReadsTablesOnce(t *testing.T) {
	for _, c := range []struct {
		reason string
		before time.Duration // time from the last reading to the creation of the rule
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
				if got := w.checks(40, nil); got != c.want {
					t.Errorf("%s\nwant %s", got, c.want)
				}
				if n := len(w.alerts(alerts.AlertList{})); n != 1 || w.tableReads != 2 {
					t.Errorf("%d alerts, the tables were read %d times", n, w.tableReads)
				}
			})
		})
	}
}

// TestRecreatedDeadmanRule_IgnoresOldLastSeen deletes a rule and recreates it later. In between,
// last-seen times are not recorded. Last-seen times from the first rule must not make a device
// silent under the second.
func TestRecreatedDeadmanRule_IgnoresOldLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := silent("", 10*time.Minute)
		r.ID = "quiet"
		w.rule(r)
		got := w.checks(90, func(minute int) {
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
		if got != "85: 60-70-" { // opens late by the request timeout of 15 minutes, because the reading is older than the recreated rule
			t.Error(got)
		}
	})
}

// TestRecreatedDeadmanRule_DropsDeviceStates checks that a recreated rule does not use the device
// states of the old one, even without a sweep in between.
func TestRecreatedDeadmanRule_DropsDeviceStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		r := silent("", 10*time.Minute)
		r.ID = "quiet"
		w.rule(r)
		w.checks(30, nil)
		must(t, w.DeleteRule(t.Context(), tenant, "quiet"))
		w.advance(10 * time.Second)
		w.send(reading("d", w.now()))
		w.rule(r)
		if got := w.checks(60, nil); !strings.HasSuffix(got, " 30-40-") {
			t.Error(got)
		}
	})
}

// TestDeadman_AllowsForClockSkewOfRule uses a rule whose creation time is too early. For readings
// before its real creation, the tables must still be read.
func TestDeadman_AllowsForClockSkewOfRule(t *testing.T) {
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
		if got := w.checks(30, nil); got != "25: 5-15-" {
			t.Error(got)
		}
	})
}

func TestDeadman_IgnoresDevicesOfOtherStreams(t *testing.T) {
	for _, device := range []string{"", "d"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(silent(device, 10*time.Minute))
			got := w.checks(60, func(int) {
				other := reading("d", w.now())
				other.Stream = "other"
				w.send(other)
			})
			if got != "" || w.tableReads != 1 {
				t.Errorf("%s; the tables were read %d times", got, w.tableReads)
			}
		})
	}
}

// TestInterruptedSweep_IsCompletedByNext makes the writes of a sweep fail after a silent device has
// reported. The next sweep must resolve the alert.
func TestInterruptedSweep_IsCompletedByNext(t *testing.T) {
	for _, prefix := range []string{"RUN#", "ALERT#"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.rule(silent("", 10*time.Minute))
			w.send(reading("d", noon))
			w.checks(15, nil)
			w.send(reading("d", w.now()))
			synctest.Wait()
			w.items.FailWrites(registrytest.FailOn(prefix))
			if err := w.CheckDeadman(t.Context()); err == nil {
				t.Error("no error")
			}
			w.items.FailWrites(nil)
			if got := w.checks(2, nil); got != "1: 0-10-15" {
				t.Errorf("%s: %s", prefix, got)
			}
		})
	}
}

// TestSweep_ReadsLittleForUnchangedDevices checks that a sweep makes few queries and does not read
// the tables, if devices report all the time. The same applies to silent devices with an open
// alert, and to devices without readings in the stream.
func TestSweep_ReadsLittleForUnchangedDevices(t *testing.T) {
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
				queries, gets, asked := w.items.Queries, w.items.Gets, w.tableReads
				must(t, w.CheckDeadman(t.Context()))
				// The queries are for the rules and for 16 partitions of devices. The gets are for the
				// lease and the last-seen times.
				if q, g, a := w.items.Queries-queries, w.items.Gets-gets, w.tableReads-asked; q > 17 || g > 2 || a > 0 {
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

// TestSweep_AllowsForLaggingLists checks that a device does not count as silent if only an outdated
// list lacks its recent last-seen time.
func TestSweep_AllowsForLaggingLists(t *testing.T) {
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
			if got := w.checks(20, func(int) { w.send(reading("d", w.now())) }); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestSweep_ContinuesAfterFailedDevices checks that failed devices do not stop a sweep, and that
// its error names one of them. If all devices fail, the sweep must end early.
func TestSweep_ContinuesAfterFailedDevices(t *testing.T) {
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
