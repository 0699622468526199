package uplink_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/uplink"
	"github.com/varvedb/varve/api/wire"
)

// fill appends a reading of each device every ten minutes for five hours, and returns their number.
func (g *gateway) fill(t *testing.T, devices int) (readings int64) {
	t.Helper()
	for n := range 30 {
		g.append(t, devices, n)
		wait(10 * time.Minute)
	}
	return int64(30 * devices)
}

// answer sets the function that may answer requests in place of the server. The server itself answers
// if the function returns nil.
func (l *loser) answer(intercept func(r *http.Request) *http.Response) { l.intercept.Store(&intercept) }

func isComparison(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/digests") }

// TestReconcile_ForgetsNothingAfterFailure answers comparisons as broken servers, proxies and captive portals
// do, for two days. Meanwhile, new readings must be sent, and no reading may be forgotten. Afterward, the
// lost readings must be resent.
func TestReconcile_ForgetsNothingAfterFailure(t *testing.T) {
	for name, answer := range map[string]func() *http.Response{
		"unavailable":    func() *http.Response { return reply(503, map[string]string{"detail": "later"}) },
		"internal":       func() *http.Response { return reply(500, map[string]string{"detail": "fault"}) },
		"portal":         func() *http.Response { return reply(200, "<html>Log in first</html>") },
		"empty object":   func() *http.Response { return reply(200, map[string]string{}) },
		"too few hours":  func() *http.Response { return reply(200, map[string]any{"compared": 1, "differ": []string{}}) },
		"not understood": func() *http.Response { return reply(200, map[string]any{"compared": "all"}) },
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.server.lost = []string{`"n":7}`}
				g.server.answer(func(r *http.Request) *http.Response {
					if isComparison(r) {
						return answer()
					}
					return nil
				})
				all := g.fill(t, 2)
				wait(2 * keep)
				g.append(t, 2, 100)
				wait(time.Minute)
				if s := g.box.Stats(); s.Readings != 0 || s.KeptReadings != all || s.Uncompared != 0 || len(g.failed) < 100 || len(g.runs) < 20 {
					t.Errorf("%+v, %d failures, %d runs", s, len(g.failed), len(g.runs))
				}
				for _, r := range g.runs {
					if r.Err == nil || r.Refused || r.Resent.Total() > 0 {
						t.Fatalf("%+v", r)
					}
				}
				g.server.intercept.Store(nil)
				wait(2 * keep)
				if total := g.total(); total.Resent.Stored != 2 || total.Readings != all+2 || g.box.Stats().Uncompared != 0 {
					t.Errorf("%+v", total)
				}
				g.wantStored(t, 2, 31)
			})
		})
	}
}

// TestReconcile_RepeatsInterruptedRun stops the sender, or cuts the network, during a comparison. The next
// comparison must find the lost readings.
func TestReconcile_RepeatsInterruptedRun(t *testing.T) {
	for name, restart := range map[string]bool{"agent": true, "network": false} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.server.lost = []string{`"n":7}`}
				all := g.fill(t, 5)
				stuck := make(chan struct{})
				g.server.answer(func(r *http.Request) *http.Response {
					if g.server.compares.Load() < 3 && isComparison(r) {
						return nil
					}
					if restart && isComparison(r) {
						<-stuck
					}
					return reply(502, "no network")
				})
				wait(keep + 5*time.Hour)
				if restart {
					close(stuck)
				}
				g.stop()
				if s := g.box.Stats(); s.KeptReadings != all || s.Uncompared != 0 {
					t.Errorf("%+v, want %d kept readings", s, all)
				}
				for _, k := range g.box.Kept().Segments() {
					if k.Compared {
						t.Errorf("%+v is compared", k)
					}
				}
				g.server.intercept.Store(nil)
				g.start(t)
				wait(keep)
				if total := g.total(); total.Resent.Stored != 5 || total.Readings != all {
					t.Errorf("%+v", total)
				}
				g.wantStored(t, 5, 30)
			})
		})
	}
}

// TestReconcile_ForgetsByAgeIfRefused sends to servers that do not compare readings. Kept readings must be
// forgotten after twice outbox.Options.Keep, and not before.
func TestReconcile_ForgetsByAgeIfRefused(t *testing.T) {
	for _, status := range []int{401, 403, 404, 405} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.server.answer(func(r *http.Request) *http.Response {
					if isComparison(r) {
						return reply(status, map[string]string{"detail": "an agent only accepts readings"})
					}
					return nil
				})
				all := g.fill(t, 2)
				wait(2*keep - 6*time.Hour)
				if s := g.box.Stats(); s.KeptReadings != all || s.Uncompared != 0 {
					t.Errorf("before twice the time: %+v, want %d kept readings", s, all)
				}
				wait(12 * time.Hour)
				if s := g.box.Stats(); s.KeptReadings != 0 || s.Uncompared != all || s.Segments != 0 {
					t.Errorf("after twice the time: %+v, want %d readings that were not compared", s, all)
				}
				if len(g.runs) == 0 || len(g.runs) > 20 || !g.runs[0].Refused || len(g.failed) > 0 {
					t.Errorf("%d runs: %+v; failures %q", len(g.runs), g.runs, g.failed)
				}
			})
		})
	}
}

// TestReconcile_GivesWay appends a reading during each comparison of a series. The reading must be sent
// before the next comparison.
func TestReconcile_GivesWay(t *testing.T) {
	const devices = 20
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.fill(t, devices)
		urgent, late := 0, 0
		g.server.answer(func(r *http.Request) *http.Response {
			if !isComparison(r) {
				return nil
			}
			if urgent > 0 && !strings.Contains(g.server.written()[len(g.server.written())-1], fmt.Sprintf(`"n":%d`, 1000+urgent)) {
				late++
			}
			urgent++
			<-time.After(2 * time.Second) // the server is slow
			line := fmt.Appendf(nil, `{"device":"urgent","time":"%s","fields":{"n":%d}}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), 1000+urgent)
			if err := g.box.Append(t.Context(), []outbox.Record{{Stream: "s", Readings: 1, Lines: line}}); err != nil {
				t.Error(err)
			}
			return nil
		})
		wait(keep + 2*time.Hour)
		if urgent < devices || late > 0 || len(g.runs) == 0 {
			t.Errorf("%d comparisons, of which %d began before the reading was sent; %d runs", urgent, late, len(g.runs))
		}
	})
}

// TestReconcile_DividesIntoParts compares more hours than fit into the memory. The same readings must be
// resent as without this limit. An hour that does not fit even alone must be excluded and counted.
func TestReconcile_DividesIntoParts(t *testing.T) {
	for name, held := range map[string]int{"at once": 0, "in parts": 150, "in small parts": 80} {
		t.Run(name, func(t *testing.T) {
			const devices, large = 7, 200
			withGateway(t, func(o *uplink.Options) { o.Held = held }, func(t *testing.T, g *gateway) {
				g.server.lost = []string{`"n":7}`, `"n":20}`}
				all := g.fill(t, devices)
				var lines []byte
				for n := range large {
					lines = fmt.Appendf(lines, `{"device":"large","time":%d,"fields":{"n":%d}}`+"\n", time.Now().UnixMilli(), 1000+n)
				}
				if err := g.box.Append(t.Context(), []outbox.Record{{Stream: "s", Readings: large, Lines: lines}}); err != nil {
					t.Fatal(err)
				}
				wait(2 * keep)
				want := uplink.Reconciliation{Readings: all + large, Resent: wire.Tally{Stored: 2 * devices, Duplicates: 10 * devices}}
				if held > 0 {
					want.Readings, want.Uncompared = all, large
				}
				got := g.total()
				if got.Series < devices || held == 0 && got.Series > 3*devices {
					t.Errorf("%d comparisons of %d series", got.Series, devices)
				}
				if got.Series = 0; got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
				g.wantStored(t, devices, 30)
			})
		})
	}
}

// TestReconcile_LimitsRate checks that the requests of a comparison count toward BytesPerSecond.
func TestReconcile_LimitsRate(t *testing.T) {
	withGateway(t, func(o *uplink.Options) { o.BytesPerSecond = 1000 }, func(t *testing.T, g *gateway) {
		g.fill(t, 50)
		var first, last time.Time
		g.server.answer(func(r *http.Request) *http.Response {
			if isComparison(r) {
				if last = time.Now(); first.IsZero() {
					first = last
				}
			}
			return nil
		})
		wait(keep + 3*time.Hour)
		if took := last.Sub(first); g.server.compares.Load() < 50 || took < 20*time.Second || took > time.Hour {
			t.Errorf("%d requests within %s", g.server.compares.Load(), took)
		}
	})
}

// TestReconcile_LeavesRoomToPostpone fills most of an outbox with kept readings. A reading that the
// server cannot store must still be postponed.
func TestReconcile_LeavesRoomToPostpone(t *testing.T) {
	postponed := 0
	change := func(o *uplink.Options) {
		o.Events.Postponed = func(string, int, error) { postponed++ }
	}
	withGateway(t, change, func(t *testing.T, g *gateway) {
		text := strings.Repeat("x", 60_000)
		for n := range 160 {
			line := fmt.Appendf(nil, `{"device":"d","time":"%s","fields":{"n":%d,"text":%q}}`+"\n", time.Now().UTC().Format(time.RFC3339), n, text)
			if err := g.box.Append(t.Context(), []outbox.Record{{Stream: "s", Readings: 1, Lines: line}}); err != nil {
				t.Fatal(err)
			}
			wait(time.Minute)
		}
		wait(4 * time.Hour)
		if s := g.box.Stats(); s.KeptBytes < g.box.MaxBytes()/2 {
			t.Fatalf("%+v, want more than half of %d kept", s, g.box.MaxBytes())
		}
		g.server.answer(func(r *http.Request) *http.Response {
			if r.URL.Path == "/readyz" {
				return nil
			}
			return reply(503, map[string]string{"detail": "later"})
		})
		g.append(t, 1, 100)
		wait(time.Hour)
		if g.server.intercept.Store(nil); postponed == 0 {
			t.Error("the reading was not postponed")
		}
	})
}

// TestReconcile_SavesAgeWhileIdle waits without new readings, and copies the folder without a shutdown. The age
// of the kept segments must be in the copy.
func TestReconcile_SavesAgeWhileIdle(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.fill(t, 1)
		wait(20 * time.Hour)
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(g.dir)); err != nil {
			t.Fatal(err)
		}
		box, err := outbox.Open(outbox.Options{Dir: dir, MaxBytes: outbox.MinBytes, Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		}()
		if kept := box.Kept().Segments(); len(kept) == 0 || kept[0].Age < 18*time.Hour {
			t.Errorf("%+v, want an age of 18 to 22 hours", kept)
		}
	})
}

// TestReconcile_NeedsKeep opens an outbox that keeps nothing. No reading may be compared.
func TestReconcile_NeedsKeep(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.stop()
		other, err := outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: outbox.MinBytes})
		if err != nil {
			t.Fatal(err)
		}
		kept := g.box
		g.box, g.options.Outbox = other, other
		g.start(t)
		g.fill(t, 2)
		wait(3 * keep)
		if s := other.Stats(); g.server.compares.Load() > 0 || s.KeptReadings+s.Readings > 0 || len(g.server.written()) == 0 {
			t.Errorf("%d comparisons, %+v", g.server.compares.Load(), s)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
}
