package api_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"reflect"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/local"
)

// meter is a transport that counts requests and the bytes of requests and answers, with their
// headers.
type meter struct {
	requests int
	bytes    int
}

func (m *meter) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := httputil.DumpRequestOut(r, true)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	received, err := httputil.DumpResponse(resp, true)
	m.requests++
	m.bytes += len(sent) + len(received)
	return resp, err
}

// TestReconcile_FindsLossInYear writes one reading a minute for a year, except 37 of these readings.
// The reconciliation must find the hours of the 37 readings with at most two requests, which have at
// most 20 kB together. WriteMissing must then send the readings of at most 40 hours, and nothing when it is
// called again.
func TestReconcile_FindsLossInYear(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) {
		st, err := local.Open(local.Options{Dir: t.TempDir(), Now: o.Now, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		o.Store, o.NoRollups = st, true
	})
	year, missing := writeYear(t, s)
	var set reconcile.Set
	for i := range year {
		set.Add(&year[i])
	}
	traffic := &meter{}
	metered, err := client.New(s.URL, client.WithHTTPClient(&http.Client{Transport: traffic}))
	if err != nil {
		t.Fatal(err)
	}
	hours, expired, err := metered.MissingHours(t.Context(), "weather", "d1", &set)
	if err != nil || expired > 0 {
		t.Fatalf("%d expired, %v", expired, err)
	}
	t.Logf("%d requests, %d bytes, %d hours", traffic.requests, traffic.bytes, len(hours))
	if traffic.requests > 2 || traffic.bytes > 20_000 || len(hours) > 40 {
		t.Errorf("%d requests, %d bytes, %d hours; want at most 2, 20000 and 40", traffic.requests, traffic.bytes, len(hours))
	}
	checkHours(t, hours, missing)
	*traffic = meter{}
	sent, a, err := metered.WriteMissing(t.Context(), "weather", "d1", year)
	if err != nil || a.Stored != int64(len(missing)) || a.Duplicates != int64(sent-len(missing)) || sent > 40*60 || traffic.requests > 3 {
		t.Fatalf("WriteMissing: %d sent in %d requests, %+v, %v; want %d stored, at most 40 hours in 3 requests", sent, traffic.requests, a, err, len(missing))
	}
	*traffic = meter{}
	if sent, _, err = metered.WriteMissing(t.Context(), "weather", "d1", year); err != nil || sent > 0 || traffic.requests != 1 {
		t.Errorf("WriteMissing of complete readings: %d sent in %d requests, %v; want 0 in 1", sent, traffic.requests, err)
	}
	for i := range missing {
		readBack(t, metered, &missing[i])
	}
}

// writeYear writes one reading a minute for a year, except 37 of these readings. It returns all readings, and the
// missing ones.
func writeYear(t *testing.T, s *server) (year, missing []varve.Reading) {
	t.Helper()
	const minutes = 364 * 24 * 60 // a day less than the retention of 365 days
	rng := rand.New(rand.NewPCG(17, 37))
	lost := map[int]bool{}
	for len(lost) < 37 {
		lost[rng.IntN(minutes)] = true
	}
	var stored []varve.Reading
	for i := minutes - 1; i >= 0; i-- {
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"}, Time: noon.Add(-time.Duration(i) * time.Minute),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i % 50))}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatalf("%s", v)
		}
		year = append(year, r)
		if lost[i] {
			missing = append(missing, r)
			continue
		}
		if stored = append(stored, r); len(stored) == 50_000 || i == 0 {
			writeAll(t, s, stored)
			stored = stored[:0]
		}
	}
	return year, missing
}

func readBack(t *testing.T, c *client.Client, r *varve.Reading) {
	t.Helper()
	n := 0
	q := client.Query{Stream: r.Series.Stream, Device: r.Series.Device, From: r.Time.Format(time.RFC3339), To: r.Time.Add(time.Second).Format(time.RFC3339)}
	for got, err := range c.Readings(t.Context(), q, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; got.Position() != r.Position() {
			t.Errorf("read %s, want %s", got, r)
		}
	}
	if n != 1 {
		t.Errorf("%s: read %d times, want once", r, n)
	}
}

func checkHours(t *testing.T, hours []time.Time, readings []varve.Reading) {
	t.Helper()
	found := map[int64]bool{}
	for _, h := range hours {
		found[h.Unix()] = true
	}
	for i := range readings {
		if !found[readings[i].Time.Truncate(time.Hour).Unix()] {
			t.Errorf("the hour of %s is not found", &readings[i])
		}
	}
}

func writeAll(t *testing.T, s *server, readings []varve.Reading) {
	t.Helper()
	q, err := s.engine.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := q.Write(context.Background(), readings, verdicts); err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if v.Outcome != varve.Stored {
			t.Fatalf("%s: %s", &readings[i], v)
		}
	}
}

// TestDigestsPost_SignsReceipt compares the digests of two hours. One hour has a reading that the store
// lacks. The receipt of the answer must be signed with the server's key, and must state the windows and
// the stored readings, not the sent readings.
func TestDigestsPost_SignsReceipt(t *testing.T) {
	s := newServer(t, nil)
	var sent []varve.Reading
	for _, ago := range []time.Duration{3 * time.Hour, 170 * time.Minute, 2 * time.Hour, time.Minute} {
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"}, Time: noon.Add(-ago),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatalf("%s", v)
		}
		sent = append(sent, r)
	}
	writeAll(t, s, []varve.Reading{sent[0], sent[1], sent[3]}) // the store lacks sent[2], and sent[3] is not compared
	var set reconcile.Set
	for i := range sent[:3] {
		set.Add(&sent[i])
	}
	post := wire.DigestsPost{Period: "hourly"}
	for _, span := range set.Spans(rollup.Hourly, nil) {
		post.Spans = append(post.Spans, wire.DigestsSpan(span))
	}
	data, err := json.Marshal(post)
	if err != nil {
		t.Fatal(err)
	}
	s.advance(5 * time.Minute)
	answer := s.send(http.MethodPost, "/v1/streams/weather/devices/d1/digests?receipt=true", string(data), "Content-Type", "application/json")
	if answer.status != http.StatusOK {
		t.Fatalf("%d %s", answer.status, answer.body)
	}
	body := decode[wire.DifferencesBody](answer)
	if want := "2026-11-18T10:00:00Z"; len(body.Differ) != 1 || body.Differ[0] != want {
		t.Errorf("%v differ, want %s", body.Differ, want)
	}
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	key, err := c.ReceiptsKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := receipts.Verify(body.Receipt, key)
	if err != nil {
		t.Fatalf("receipt %q: %v", body.Receipt, err)
	}
	var stored reconcile.Digest
	for _, r := range sent[:2] {
		stored.Add(reconcile.HashOf(varve.Position{Time: r.Time.UnixNano(), ID: r.ContentID()}))
	}
	want := receipts.Receipt{
		Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1", Readings: 2, Digest: stored.String(), At: noon.Add(5 * time.Minute),
		Windows: []receipts.Window{{From: noon.Add(-3 * time.Hour), To: noon.Add(-time.Hour)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("receipt %+v, want %+v", got, want)
	}
}
