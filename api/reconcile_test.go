package api_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/store/local"
)

// meter is a transport that counts requests and the bytes of requests and answers, with their
// headers.
type meter struct {
	requests int
	bytes    int
}

// RoundTrip implements http.RoundTripper.
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

// TestReconcile_FindsLossInYear writes one reading a minute for a year, except 37 of these readings. The
// reconciliation must find the hours of the 37 readings with at most two requests, and at most 20 kB in
// all. Then the missing readings are written, and a further reconciliation needs one request.
func TestReconcile_FindsLossInYear(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) {
		st, err := local.Open(local.Options{Dir: t.TempDir(), Now: o.Now, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		o.Store, o.NoRollups = st, true
	})
	const minutes = 364 * 24 * 60 // a day less than the retention of 365 days
	rng := rand.New(rand.NewPCG(17, 37))
	lost := map[int]bool{}
	for len(lost) < 37 {
		lost[rng.IntN(minutes)] = true
	}
	var set reconcile.Set
	var stored, missing []varve.Reading
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for n := range minutes {
		i := minutes - 1 - n
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"}, Time: noon.Add(-time.Duration(i) * time.Minute),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i % 50))}},
		}
		set.Add(&r)
		if lost[i] {
			missing = append(missing, r)
			continue
		}
		if stored = append(stored, r); len(stored) == 50_000 || i == 0 {
			writeAll(t, s, stored)
			stored = stored[:0]
		}
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
	if a, err := c.WriteReadings(t.Context(), "weather", missing); err != nil || a.Stored != 37 {
		t.Fatalf("%+v, %v", a, err)
	}
	*traffic = meter{}
	if hours, _, err = metered.MissingHours(t.Context(), "weather", "d1", &set); err != nil || len(hours) > 0 || traffic.requests != 1 {
		t.Errorf("after the loss was sent: %d hours, %d requests, %v", len(hours), traffic.requests, err)
	}
}

// checkHours checks that the hours include all readings.
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

// writeAll writes readings to the engine of a server.
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
