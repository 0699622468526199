package uplink_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/uplink"
)

// answerComparisons answers comparisons in place of the server.
func (g *gateway) answerComparisons(answer func(r *http.Request) *http.Response) {
	g.server.answer(func(r *http.Request) *http.Response {
		if !isComparison(r) {
			return nil
		}
		return answer(r)
	})
}

// TestReconcile_SendsBetweenFailedComparisons makes all comparisons fail on a server that stores
// readings. Fresh readings must be sent within two minutes, although the comparisons wait for longer.
func TestReconcile_SendsBetweenFailedComparisons(t *testing.T) {
	for name, answer := range map[string]func(r *http.Request) *http.Response{
		"retry later": func(*http.Request) *http.Response {
			later := reply(429, map[string]string{"detail": "too many comparisons"})
			later.Header.Set("Retry-After", "300")
			return later
		},
		"no answer": func(r *http.Request) *http.Response {
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Minute):
			}
			return reply(504, "no answer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.fill(t, 1)
				g.answerComparisons(answer)
				wait(keep)
				late := 0
				for n := range 60 {
					g.append(t, 1, 1000+n)
					wait(2 * time.Minute)
					if last := g.server.written()[len(g.server.written())-1]; !strings.Contains(last, fmt.Sprintf(`"n":%d`, 1000+n)) {
						late++
					}
				}
				if late > 0 || g.server.compares.Load() == 0 {
					t.Errorf("%d of 60 readings were sent after more than two minutes; %d comparisons", late, g.server.compares.Load())
				}
			})
		})
	}
}

// TestReconcile_ComparesOtherSeries makes each comparison of one series fail. The cause can be a
// damaged file of the server, or a proxy that refuses the name of the device. The lost readings of the
// other series must be resent.
func TestReconcile_ComparesOtherSeries(t *testing.T) {
	for _, status := range []int{400, 404, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.server.lost = []string{`"n":7}`}
				g.answerComparisons(func(r *http.Request) *http.Response {
					if strings.Contains(r.URL.Path, "/d0/") {
						return reply(status, map[string]string{"detail": "not this one"})
					}
					return nil
				})
				all := g.fill(t, 5)
				wait(keep + 6*time.Hour)
				if total := g.total(); total.Resent.Stored != 4 {
					t.Errorf("%+v, want 4 stored readings", total)
				}
				if g.server.compares.Load() > 100 {
					t.Errorf("%d comparisons of 5 series within three hours, want at most 100", g.server.compares.Load())
				}
				if s := g.box.Stats(); s.KeptReadings != all || s.Uncompared != 0 {
					t.Errorf("%+v, want %d kept readings", s, all)
				}
			})
		})
	}
}

// TestReconcile_GivesUpResending makes the server refuse the resent readings of one stream for hours.
// Meanwhile, fresh readings of another stream must be confirmed, and no kept reading may return to the
// outbox. When the server accepts readings again, the lost ones must be stored.
func TestReconcile_GivesUpResending(t *testing.T) {
	for _, status := range []int{400, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			postponed := 0
			change := func(o *uplink.Options) {
				o.Events.Postponed = func(_ string, n int, _ error) { postponed += n }
			}
			withGateway(t, change, func(t *testing.T, g *gateway) {
				g.server.lost = []string{`"n":7}`}
				all := g.fill(t, 2)
				wait(20 * time.Hour)
				refused := 0
				g.server.answer(func(r *http.Request) *http.Response {
					if !isComparison(r) && strings.Contains(r.URL.Path, "/streams/s/") {
						refused++
						return reply(status, map[string]string{"detail": "not now"})
					}
					return nil
				})
				wait(10 * time.Hour)
				g.appendTo(t, "other", 1, 2000)
				wait(time.Hour)
				if s := g.box.Stats(); s.Readings != 0 || s.KeptReadings < all || refused == 0 {
					t.Errorf("%+v, %d refused bodies: want no unconfirmed readings", s, refused)
				}
				if postponed > 0 {
					t.Errorf("%d kept readings were appended to the outbox", postponed)
				}
				g.server.intercept.Store(nil)
				wait(keep)
				g.wantStored(t, 2, 30)
			})
		})
	}
}

// TestReconcile_KeepsReadingsAfterFirstRefusal simulates an outage of three days. A captive portal
// answers the first comparisons after the outage. Its answers must remove no kept reading. When the server
// answers, the lost readings must be resent.
func TestReconcile_KeepsReadingsAfterFirstRefusal(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.server.lost = []string{`"n":7}`}
		all := g.fill(t, 2)
		g.answerComparisons(func(*http.Request) *http.Response { return reply(502, "no network") })
		wait(3 * keep)
		g.answerComparisons(func(*http.Request) *http.Response { return reply(403, "Log in first") })
		wait(6 * time.Hour)
		if s := g.box.Stats(); s.KeptReadings != all || s.Uncompared != 0 {
			t.Errorf("%+v, want %d kept readings", s, all)
		}
		g.server.intercept.Store(nil)
		wait(6 * time.Hour)
		if total := g.total(); total.Resent.Stored != 2 {
			t.Errorf("%+v, want 2 stored readings", total)
		}
	})
}
