package uplink_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/uplink"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// server answers writes as a test decides, and records the accepted lines.
type server struct {
	mu       sync.Mutex
	requests int
	stored   []string
	answer   func(n int, stream string, lines []string) (status int, body any) // n counts requests from 1
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		_, _ = w.Write([]byte(`{"ready":true}`))
		return
	}
	in, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := io.ReadAll(in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	stream := strings.Split(r.URL.Path, "/")[3]
	s.mu.Lock()
	s.requests++
	status, body := s.answer(s.requests, stream, lines)
	if a, ok := body.(wire.WriteAnswer); ok {
		for i, line := range lines {
			if !slices.ContainsFunc(a.Rejects, func(r wire.Reject) bool { return r.Index == int64(i) }) {
				s.stored = append(s.stored, stream+" "+line)
			}
		}
	}
	s.mu.Unlock()
	out, err := json.Marshal(body)
	if text, ok := body.(string); ok {
		out = []byte(text)
	}
	if err != nil {
		panic(err)
	}
	w.WriteHeader(status)
	_, _ = w.Write(out)
}

// all returns the answer of a server that has stored all readings.
func all(lines []string) (int, any) {
	return http.StatusOK, wire.WriteAnswer{Stored: int64(len(lines)), Rejects: []wire.Reject{}}
}

// world is a sender between an outbox and a server.
type world struct {
	server *server
	box    *outbox.Outbox
	mu     sync.Mutex
	failed []string
	reject []string
	moved  int
	tally  wire.Tally
}

// run fills an outbox with the given number of readings of two streams, and sends them until the outbox is
// empty.
func run(t *testing.T, readings int, change func(*uplink.Options), answer func(n int, stream string, lines []string) (int, any)) *world {
	t.Helper()
	w := &world{server: &server{answer: answer}}
	listening := httptest.NewServer(w.server)
	t.Cleanup(listening.Close)
	c, err := client.New(listening.URL, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if w.box, err = outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: outbox.MinBytes}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.box.Close() }) // the test may have closed the outbox already
	var records []outbox.Record
	for n := range readings {
		records = append(records, outbox.Record{Stream: fmt.Sprint("s", n%2), Readings: 1, Lines: fmt.Appendf(nil, `{"n":%d}`+"\n", n)})
	}
	if err := w.box.Append(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	o := uplink.Options{Outbox: w.box, Client: c, Every: time.Millisecond, MaxWait: 5 * time.Millisecond, Events: uplink.Events{
		Failed:    func(err error, _ time.Duration) { w.mu.Lock(); w.failed = append(w.failed, err.Error()); w.mu.Unlock() },
		Rejected:  func(stream string, r *wire.Reject) { w.mu.Lock(); w.reject = append(w.reject, r.Code); w.mu.Unlock() },
		Postponed: func(_ string, n int, _ error) { w.mu.Lock(); w.moved += n; w.mu.Unlock() },
		Sent:      func(tally wire.Tally, _ int) { w.mu.Lock(); w.tally.Add(tally); w.mu.Unlock() },
	}}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan struct{})
	go func() {
		uplink.New(o).Run(ctx)
		close(ended)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.box.Stats().Readings > 0 && ctx.Err() == nil {
		<-tick.C
	}
	if ctx.Err() != nil {
		t.Fatalf("the outbox has %d readings left; %d failures", w.box.Stats().Readings, len(w.failed))
	}
	stop()
	<-ended
	return w
}

// wantStored checks that each reading is stored once, and that the readings of a stream are in order.
func (w *world) wantStored(t *testing.T, readings int) {
	t.Helper()
	var want []string
	for s := range 2 {
		for n := s; n < readings; n += 2 {
			want = append(want, fmt.Sprintf(`s%d {"n":%d}`, s, n))
		}
	}
	got := slices.Clone(w.server.stored)
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:2], b[:2]) })
	if !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
}

// TestSender_SendsOneBodyPerStream checks that a batch with mixed streams needs only one request per
// stream.
func TestSender_SendsOneBodyPerStream(t *testing.T) {
	w := run(t, 100, nil, func(_ int, _ string, lines []string) (int, any) { return all(lines) })
	w.wantStored(t, 100)
	if w.server.requests != 2 || w.tally.Stored != 100 {
		t.Errorf("%d requests, %+v", w.server.requests, w.tally)
	}
}

// TestSender_RetriesUntilVerdicts answers the first requests as broken servers, proxies and captive
// portals do. An answer without verdicts must not confirm any reading.
func TestSender_RetriesUntilVerdicts(t *testing.T) {
	short := wire.WriteAnswer{Stored: 3, Rejects: []wire.Reject{}}
	for name, answer := range map[string]func(lines []string) (int, any){
		"page of a portal":    func([]string) (int, any) { return 200, "<html>Log in first</html>" },
		"empty object":        func([]string) (int, any) { return 200, "{}" },
		"verdicts missing":    func([]string) (int, any) { return 200, "{\"stored\":3}" },
		"counts without list": func(l []string) (int, any) { return 207, "{\"rejected\":5,\"rejects\":[]}" },
		"index out of range": func(l []string) (int, any) {
			return 422, fmt.Sprintf(`{"rejected":%d,"rejects":[%s]}`, len(l), strings.TrimSuffix(strings.Repeat(`{"index":99,"code":"malformed"},`, len(l)), ","))
		},
		"negative index": func(l []string) (int, any) {
			return 422, fmt.Sprintf(`{"rejected":%d,"rejects":[%s]}`, len(l), strings.TrimSuffix(strings.Repeat(`{"index":-1,"code":"malformed"},`, len(l)), ","))
		},
		"unavailable":           func([]string) (int, any) { return 503, short },
		"key revoked":           func([]string) (int, any) { return 401, `{"detail":"no valid key"}` },
		"forbidden":             func([]string) (int, any) { return 403, `{"detail":"this takes another key"}` },
		"not found":             func([]string) (int, any) { return 404, `{"detail":"no such path"}` },
		"gateway":               func([]string) (int, any) { return 502, "<html>bad gateway</html>" },
		"other method":          func([]string) (int, any) { return 405, "" },
		"body refused as whole": func([]string) (int, any) { return 400, `{"detail":"bad request"}` },
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, 10, nil, func(n int, _ string, lines []string) (int, any) {
				if n <= 3 {
					status, body := answer(lines)
					if _, isAnswer := body.(wire.WriteAnswer); isAnswer {
						body = `{"detail":"later"}`
					}
					return status, body
				}
				return all(lines)
			})
			w.wantStored(t, 10)
			if len(w.failed) != 3 || w.tally.Total() != 10 {
				t.Errorf("failures %q, %+v", w.failed, w.tally)
			}
		})
	}
}

// TestSender_HalvesRefusedBodies sends through a proxy that refuses bodies of more than 3 readings.
// All readings must be stored.
func TestSender_HalvesRefusedBodies(t *testing.T) {
	w := run(t, 50, nil, func(_ int, _ string, lines []string) (int, any) {
		if len(lines) > 3 {
			return http.StatusRequestEntityTooLarge, "<html>too large</html>"
		}
		return all(lines)
	})
	w.wantStored(t, 50)
}

// TestSender_HalvesTruncatedAnswers sends to an agent that lists at most 3 rejected readings. Each reading must
// be rejected once.
func TestSender_HalvesTruncatedAnswers(t *testing.T) {
	w := run(t, 50, nil, func(_ int, _ string, lines []string) (int, any) {
		answer := wire.WriteAnswer{Rejected: int64(len(lines)), Truncated: len(lines) > 3}
		for i := range min(len(lines), 3) {
			answer.Rejects = append(answer.Rejects, wire.Reject{Index: int64(i), Code: string(varve.CodeMalformed)})
		}
		return http.StatusUnprocessableEntity, answer
	})
	if len(w.reject) != 50 || w.moved != 0 || w.tally != (wire.Tally{Rejected: 50}) {
		t.Errorf("%d readings rejected, %d postponed, %+v, want 50, none, and 50 rejected", len(w.reject), w.moved, w.tally)
	}
}

// TestSender_ConfirmsRejections checks that a reading that the server rejects permanently is not resent.
func TestSender_ConfirmsRejections(t *testing.T) {
	w := run(t, 10, nil, func(_ int, _ string, lines []string) (int, any) {
		return http.StatusMultiStatus, wire.WriteAnswer{Stored: 2, Duplicates: 1, Rejected: 2, Rejects: []wire.Reject{
			{Index: 0, Code: string(varve.CodeConflict)}, {Index: 3, Code: string(varve.CodeQuarantined)},
		}}
	})
	if w.server.requests != 2 || w.tally != (wire.Tally{Stored: 4, Duplicates: 2, Rejected: 4}) || len(w.reject) != 4 {
		t.Errorf("%d requests, %+v, rejections %q", w.server.requests, w.tally, w.reject)
	}
}

// TestSender_PostponesUnavailableReadings checks that only the readings without a final verdict are
// resent. After some tries, they are postponed, and other readings are sent first.
func TestSender_PostponesUnavailableReadings(t *testing.T) {
	const broken, last = `{"n":4}`, `{"n":9}`
	isLastStored, tries := false, 0
	w := run(t, 10, func(o *uplink.Options) { o.Retry, o.Readings = time.Millisecond, 6 }, func(_ int, _ string, lines []string) (int, any) {
		isLastStored = isLastStored || slices.Contains(lines, last)
		at := slices.Index(lines, broken)
		if at < 0 || isLastStored {
			return all(lines)
		}
		tries++
		status := http.StatusMultiStatus
		if len(lines) == 1 {
			status = http.StatusServiceUnavailable
		}
		return status, wire.WriteAnswer{Stored: int64(len(lines) - 1), Rejected: 1, Rejects: []wire.Reject{{Index: int64(at), Code: "unavailable", Message: "the table is being created"}}}
	})
	slices.Sort(w.server.stored)
	if n := len(slices.Compact(slices.Clone(w.server.stored))); n != 10 || len(w.server.stored) != 10 || w.moved != 1 || tries < 5 {
		t.Errorf("%d readings stored, %d of them distinct, %d postponed after %d tries", len(w.server.stored), n, w.moved, tries)
	}
}

// TestSender_LimitsRate checks that the rates bound the speed, beyond a burst of one second.
func TestSender_LimitsRate(t *testing.T) {
	for name, change := range map[string]func(*uplink.Options){
		"readings": func(o *uplink.Options) { o.ReadingsPerSecond, o.Readings = 200, 20 },
		"bytes":    func(o *uplink.Options) { o.BytesPerSecond, o.Readings = 1000, 20 },
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			w := run(t, 300, change, func(_ int, _ string, lines []string) (int, any) { return all(lines) })
			w.wantStored(t, 300)
			if took := time.Since(begin); took < 400*time.Millisecond {
				t.Errorf("all was sent within %s", took)
			}
		})
	}
}

// TestSender_StopsWhileServerIsDown checks that Run ends if its context ends after a failure, and confirms
// nothing.
func TestSender_StopsWhileServerIsDown(t *testing.T) {
	box, err := outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: outbox.MinBytes})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Append(t.Context(), []outbox.Record{{Stream: "s", Readings: 1, Lines: bytes.Repeat([]byte("x\n"), 1)}}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://127.0.0.1:1", client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	uplink.New(uplink.Options{Outbox: box, Client: c, Events: uplink.Events{
		Failed: func(error, time.Duration) { stop(errors.New("stopped")) },
	}}).Run(ctx)
	if left := box.Stats().Readings; left != 1 {
		t.Errorf("%d readings are left", left)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}
