package uplink_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/uplink"
)

// answerStream sets the function that answers writes to streams whose names begin with a prefix. The server
// answers all other requests.
func (g *gateway) answerStream(prefix string, answer func(r *http.Request) *http.Response) {
	g.server.answer(func(r *http.Request) *http.Response {
		if !strings.HasPrefix(r.URL.Path, "/v1/streams/"+prefix) || isComparison(r) {
			return nil
		}
		return answer(r)
	})
}

func isNotNow(*http.Request) *http.Response {
	return reply(503, map[string]string{"detail": "not now"})
}

// received reports whether a write to the server had a reading with a number. It ignores the
// first writes, whose number is the argument "since".
func (g *gateway) received(since, number int) bool {
	for _, text := range g.server.written()[min(since, len(g.server.written())):] {
		if strings.Contains(text, fmt.Sprintf(`"n":%d}`, number)) {
			return true
		}
	}
	return false
}

// TestPostponed_StaysSmall makes the server refuse 100 readings for hours, while ten other readings are
// appended each minute. The outbox must grow only by the kept readings, and must keep all of them until
// they are compared. The test takes three hours of the fake clock, or 48 hours with the variable
// VARVE_MEASURE.
func TestPostponed_StaysSmall(t *testing.T) {
	duration := 3 * time.Hour
	if os.Getenv("VARVE_MEASURE") != "" {
		duration = 48 * time.Hour
	}
	for name, box := range map[string]outbox.Options{
		"oldest first": {Keep: duration / 4}, "newest first": {Keep: duration / 4, Order: outbox.NewestFirst},
		"oldest first, refuse": {Keep: duration / 4, Full: outbox.RefuseNewest}, "without keep": {SegmentBytes: 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			withOutbox(t, box, nil, func(t *testing.T, g *gateway) {
				var last time.Time
				shortest, bodies := duration, 0
				g.answerStream("stuck", func(*http.Request) *http.Response {
					if bodies++; bodies > 5 {
						shortest = min(shortest, time.Since(last))
					}
					last = time.Now()
					return isNotNow(nil)
				})
				g.appendTo(t, "stuck", 100, 1)
				largest := int64(0)
				for n := range int(duration / time.Minute) {
					g.append(t, 10, 10_000+n)
					wait(time.Minute)
					s := g.box.Stats()
					if largest = max(largest, s.Bytes-s.KeptBytes); s.Readings != 100 || s.Uncompared != 0 || s.Dropped != 0 {
						t.Fatalf("after %d minutes: %+v, want 100 unconfirmed readings", n, s)
					}
				}
				s := g.box.Stats()
				t.Logf("%+v, at most %d bytes besides kept ones, %d bodies of the stream", s, largest, bodies)
				if largest > 45_000 || s.Bytes > 3<<20 {
					t.Errorf("%+v, at most %d bytes besides kept ones", s, largest)
				}
				if shortest < 10*time.Second || bodies < int(duration/(11*time.Minute)) {
					t.Errorf("%d bodies, with at least %s between two", bodies, shortest)
				}
				if box.Keep > 0 && g.total().Readings == 0 {
					t.Error("nothing was compared")
				}
				g.server.intercept.Store(nil)
				wait(6 * time.Minute)
				if s := g.box.Stats(); s.Readings != 0 || s.Postponed != 0 {
					t.Errorf("after the end of the failure: %+v", s)
				}
			})
		})
	}
}

// TestPostponed_RecoversUnderLoad makes the server refuse three streams for an hour. Meanwhile, fresh
// readings of these and of another stream are appended. At most three readings of the other stream may take
// longer than 20 seconds. After the hour, the server is slow. Then no reading of that stream may take
// longer, and all readings must arrive within eight minutes.
func TestPostponed_RecoversUnderLoad(t *testing.T) {
	for _, order := range []outbox.Order{outbox.OldestFirst, outbox.NewestFirst} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			withOutbox(t, outbox.Options{Keep: keep, Order: order}, func(o *uplink.Options) { o.Readings = 20 }, func(t *testing.T, g *gateway) {
				bodies, late, number := 0, 0, 1000
				g.answerStream("stuck", func(*http.Request) *http.Response {
					bodies++
					return isNotNow(nil)
				})
				send := func() {
					number++
					before := len(g.server.written())
					for i := range 3 {
						g.appendTo(t, fmt.Sprint("stuck", i), 2, number)
					}
					g.append(t, 1, number)
					wait(20 * time.Second)
					if !g.received(before, number) {
						late++
					}
				}
				for range 180 {
					send()
				}
				if s := g.box.Stats(); s.Postponed < 180*6-12 || late > 3 || bodies > 200 {
					t.Errorf("%d of 180 readings were late, %d bodies of the streams; %+v", late, bodies, s)
				}
				g.stop()
				g.start(t) // the readings stay postponed
				send()
				late = 0
				g.answerStream("stuck", func(*http.Request) *http.Response { // the server is slow
					<-time.After(2 * time.Second)
					return nil
				})
				for range 24 {
					send()
				}
				if s := g.box.Stats(); s.Readings > 0 || late > 0 {
					t.Errorf("after eight minutes: %d of 24 readings were late; %+v", late, s)
				}
			})
		})
	}
}

// TestPostponed_LimitsDelay makes the server refuse 50 streams. The readings of another stream, in the
// same batch, must arrive within a minute.
func TestPostponed_LimitsDelay(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.answerStream("stuck", isNotNow)
		g.stop()
		for n := range 50 {
			g.appendTo(t, fmt.Sprint("stuck", n), 1, n)
		}
		g.append(t, 1, 100)
		g.start(t)
		wait(time.Minute)
		if s := g.box.Stats(); !g.received(0, 100) || s.Postponed != 50 {
			t.Errorf("%+v, want 50 postponed readings and one stored", s)
		}
	})
}

// TestPostponed_ContinuesAfterRestart restarts the sender while readings are postponed. When the server
// accepts them, they must arrive without further readings of their stream.
func TestPostponed_ContinuesAfterRestart(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.answerStream("stuck", isNotNow)
		g.appendTo(t, "stuck", 5, 1)
		wait(time.Minute)
		g.stop()
		g.start(t)
		wait(time.Minute)
		if s := g.box.Stats(); s.Postponed != 5 {
			t.Errorf("%+v, want 5 postponed readings", s)
		}
		g.server.intercept.Store(nil)
		wait(6 * time.Minute)
		if s := g.box.Stats(); s.Readings != 0 {
			t.Errorf("after the end of the failure: %+v", s)
		}
	})
}

// TestPostponed_IsolatesPoison sends a reading for which the server never gives a verdict. Readings of
// another stream must arrive within two minutes. The other readings of its own stream must arrive, too.
func TestPostponed_IsolatesPoison(t *testing.T) {
	status := func(code int) func(*http.Request) *http.Response {
		return func(*http.Request) *http.Response { return reply(code, map[string]string{"detail": "not this one"}) }
	}
	for name, answer := range map[string]func(*http.Request) *http.Response{
		"400": status(400), "404": status(404), "500": status(500), "503": status(503), "cut": func(*http.Request) *http.Response { return cut },
		"no answer": func(r *http.Request) *http.Response {
			<-r.Context().Done()
			return cut
		},
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.answerStream("bad", func(r *http.Request) *http.Response {
					if text := bodyOf(r); strings.Contains(text, `"n":777}`) {
						return answer(r)
					}
					return nil
				})
				for n := 770; n < 785; n++ {
					g.appendTo(t, "bad", 1, n)
				}
				late := 0
				for n := range 60 {
					before := len(g.server.written())
					g.append(t, 1, 2000+n)
					g.appendTo(t, "bad", 1, 3000+n)
					wait(2 * time.Minute)
					if !g.received(before, 2000+n) {
						late++
					}
				}
				if s := g.box.Stats(); late > 0 || s.Postponed > 1 || s.Readings > 1 {
					t.Errorf("%d of 60 readings were late; %+v, want only one postponed reading", late, s)
				}
				g.server.intercept.Store(nil)
				wait(10 * time.Minute)
				if s := g.box.Stats(); s.Readings > 0 || !g.received(0, 777) {
					t.Errorf("after the end of the failure: %+v", s)
				}
			})
		})
	}
}

// TestPostponed_SendsRestOfWrite sends a write with a reading for which the server never gives a
// verdict. The other readings of the write must arrive.
func TestPostponed_SendsRestOfWrite(t *testing.T) {
	for _, answer := range []*http.Response{reply(400, "not this one"), reply(500, "not this one"), reply(503, "not this one"), cut} {
		t.Run(fmt.Sprint(answer.StatusCode), func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.answerStream("bad", func(r *http.Request) *http.Response {
					if !strings.Contains(bodyOf(r), `"device":"d0"`) {
						return nil
					} else if answer == cut {
						return cut
					}
					return reply(answer.StatusCode, "not this one")
				})
				g.appendTo(t, "bad", 20, 1)
				for n := range 60 {
					g.append(t, 1, 2000+n)
					line := fmt.Appendf(nil, `{"device":"other","time":"%s","fields":{"n":%d}}`+"\n", time.Now().UTC().Format(time.RFC3339), n)
					if err := g.box.Append(t.Context(), []outbox.Record{{Stream: "bad", Readings: 1, Lines: line}}); err != nil {
						t.Fatal(err)
					}
					wait(2 * time.Minute)
				}
				stored := strings.Join(g.server.written(), "")
				for d := 1; d < 20; d++ {
					if !strings.Contains(stored, fmt.Sprintf(`"device":"d%d"`, d)) {
						t.Errorf("the reading of device d%d did not arrive", d)
					}
				}
				if s := g.box.Stats(); s.Readings != 20 || s.Postponed != 20 {
					t.Errorf("%+v, want the write with 20 readings postponed", s)
				}
			})
		})
	}
}

// TestPostponed_NeedsReadyServer lets the server fail as a whole. Nothing may be postponed. After the
// failure, all readings must be sent.
func TestPostponed_NeedsReadyServer(t *testing.T) {
	for name, answer := range map[string]func(r *http.Request) *http.Response{
		"no network": func(*http.Request) *http.Response { return cut },
		"starting":   func(*http.Request) *http.Response { return reply(503, map[string]any{"ready": false}) },
		"portal":     func(*http.Request) *http.Response { return reply(200, "<html>Log in first</html>") },
		"proxy":      func(*http.Request) *http.Response { return reply(500, "no server") },
		"key revoked": func(r *http.Request) *http.Response {
			if r.URL.Path == "/readyz" {
				return nil
			}
			return reply(401, map[string]string{"detail": "no valid key"})
		},
		"overload": func(r *http.Request) *http.Response {
			if r.URL.Path == "/readyz" {
				return nil
			}
			return reply(429, map[string]string{"detail": "too many requests"})
		},
		"black hole": func(r *http.Request) *http.Response {
			<-r.Context().Done()
			return cut
		},
	} {
		t.Run(name, func(t *testing.T) {
			postponed := 0
			change := func(o *uplink.Options) { o.Events.Postponed = func(string, int, error) { postponed++ } }
			withGateway(t, change, func(t *testing.T, g *gateway) {
				g.server.answer(answer)
				for n := range 60 {
					g.append(t, 1, n)
					g.appendTo(t, "other", 1, n)
					wait(2 * time.Minute)
				}
				if s := g.box.Stats(); postponed > 0 || s.Readings != 120 || s.Postponed != 0 {
					t.Errorf("%d postponements, %+v", postponed, s)
				}
				g.server.intercept.Store(nil)
				wait(10 * time.Minute)
				if s := g.box.Stats(); s.Readings != 0 {
					t.Errorf("after the end of the failure: %+v", s)
				}
			})
		})
	}
}
