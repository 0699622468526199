package uplink_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

// TestStuckStreams_LeaveTimeForOthers sends twelve streams for which the server never answers. Once the
// twelve are postponed, each reading of another stream must arrive within a minute.
func TestStuckStreams_LeaveTimeForOthers(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.answerStream("stuck", func(r *http.Request) *http.Response {
			<-r.Context().Done()
			return cut
		})
		late := 0
		for n := range 75 {
			before := len(g.server.written())
			for i := range 12 {
				g.appendTo(t, fmt.Sprint("stuck", i), 1, n)
			}
			g.append(t, 1, n)
			wait(time.Minute)
			if n >= 15 && !g.received(before, n) {
				late++
			}
		}
		if s := g.box.Stats(); late > 0 || s.Postponed != 12*75 {
			t.Errorf("%d of 60 readings were late; %+v, want %d postponed readings", late, s, 12*75)
		}
	})
}

// TestStuckStreams_EndBeyondLimit makes the server refuse 105 streams. At most 100 of them may have
// postponed readings. Then the server accepts the first ten. The readings of these and of another stream
// must arrive, and all others must stay postponed.
func TestStuckStreams_EndBeyondLimit(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		g.answerStream("stuck", isNotNow)
		for n := range 105 {
			g.appendTo(t, fmt.Sprint("stuck", n), 1, n)
		}
		g.append(t, 1, 1000)
		wait(10 * time.Minute)
		if s := g.box.Stats(); s.Postponed > 100 || !g.received(0, 1000) {
			t.Errorf("%+v, want at most 100 streams with postponed readings, and the reading of another stream", s)
		}
		g.answerStream("stuck", func(r *http.Request) *http.Response {
			if stream := strings.Split(r.URL.Path, "/")[3]; len(stream) == len("stuck0") {
				return nil
			}
			return isNotNow(r)
		})
		wait(20 * time.Minute)
		for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1000} {
			if !g.received(0, n) {
				t.Errorf("reading %d did not arrive", n)
			}
		}
		if s := g.box.Stats(); s.Readings != 95 || s.Postponed != 95 {
			t.Errorf("%+v, want 95 postponed readings", s)
		}
	})
}

// TestStuckStreams_PauseAfterPartialProgress makes the server refuse every second reading of a stream.
// The ranges of the refused readings are united, so each body has stored readings, too. At most two bodies
// may be sent per ten seconds.
func TestStuckStreams_PauseAfterPartialProgress(t *testing.T) {
	withGateway(t, nil, func(t *testing.T, g *gateway) {
		bodies := 0
		g.answerStream("odd", func(r *http.Request) *http.Response {
			if bodies++; bodies > 5000 {
				<-time.After(time.Hour) // so that the test ends even if it fails
			}
			var a wire.WriteAnswer
			index := int64(0)
			for line := range strings.Lines(bodyOf(r)) {
				if number := strings.TrimSuffix(line, "}}\n"); (number[len(number)-1]-'0')%2 == 1 {
					a.Rejects = append(a.Rejects, wire.Reject{Index: index, Code: "unavailable", Message: "not now"})
				}
				index++
			}
			a.Rejected = int64(len(a.Rejects))
			a.Stored = index - a.Rejected
			return reply(http.StatusMultiStatus, a)
		})
		for n := range 1000 {
			g.appendTo(t, "odd", 1, n)
		}
		wait(30 * time.Minute)
		if s := g.box.Stats(); bodies > 30*6*2 || s.Postponed < 500 {
			t.Errorf("%d bodies in 30 minutes, want at most two per 10 seconds; %+v", bodies, s)
		}
	})
}

// TestStuckStreams_AcceptOtherReadiness sends to a server behind a proxy without /readyz, and to an
// agent of an earlier version. The stuck reading must be postponed, and the other one must arrive.
func TestStuckStreams_AcceptOtherReadiness(t *testing.T) {
	for name, ready := range map[string]*http.Response{
		"proxy":         reply(http.StatusNotFound, "no such page"),
		"earlier agent": reply(http.StatusOK, map[string]string{"status": "ok", "version": "1"}),
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				text, err := io.ReadAll(ready.Body)
				if err != nil {
					t.Fatal(err)
				}
				g.server.answer(func(r *http.Request) *http.Response {
					switch {
					case r.URL.Path == "/readyz":
						return reply(ready.StatusCode, json.RawMessage(text))
					case strings.HasPrefix(r.URL.Path, "/v1/streams/stuck"):
						return isNotNow(r)
					}
					return nil
				})
				g.appendTo(t, "stuck", 1, 1)
				g.append(t, 1, 2)
				wait(5 * time.Minute)
				if s := g.box.Stats(); s.Postponed != 1 || !g.received(0, 2) {
					t.Errorf("%+v, want one postponed reading, and the other one stored", s)
				}
			})
		})
	}
}
