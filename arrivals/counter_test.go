package arrivals_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/arrivals"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// batch returns a reading and its verdict as arguments of Counter.Add.
func batch(tenant, stream string, lag time.Duration, outcome varve.Outcome) ([]varve.Reading, []varve.Verdict) {
	r := varve.Reading{Series: varve.Series{Tenant: tenant, Stream: stream, Device: "d1"}, Time: noon.Add(-lag), Arrived: noon}
	return []varve.Reading{r}, []varve.Verdict{{Outcome: outcome}}
}

// TestReport_CountsByLag checks that each lag is counted once, at the first bound that is larger.
func TestReport_CountsByLag(t *testing.T) {
	c := arrivals.New(func() time.Time { return noon })
	lags := []time.Duration{
		-time.Hour, 0, time.Second, 30 * time.Second, time.Minute, 59 * time.Minute, 2 * time.Hour, 23 * time.Hour, 24 * time.Hour,
		8 * 24 * time.Hour, 40 * 24 * time.Hour, 400 * 24 * time.Hour,
	}
	for _, lag := range lags {
		c.Add(batch("acme", "weather", lag, varve.Stored))
	}
	c.Add(batch("acme", "weather", time.Minute, varve.Duplicate))
	s := c.Report("acme").Streams
	want := "[1 1 1 1 1 1 1 1 1 1 1 1]"
	if len(s) != 1 || s[0].Name != "weather" || fmt.Sprint(s[0].Lag) != want {
		t.Fatalf("got %+v, want one stream with the lags %s", s, want)
	}
	if s[0].Counts != (arrivals.Counts{Stored: 12, Duplicates: 1}) {
		t.Errorf("got %+v", s[0].Counts)
	}
	if n := len(arrivals.Bounds()); len(s[0].Lag) != n+1 || !slices.IsSorted(arrivals.Bounds()) {
		t.Errorf("%d lags for %d bounds", len(s[0].Lag), n)
	}
}

// TestReport_HasLastHour checks that a report has each of the last minutes, and no older one.
func TestReport_HasLastHour(t *testing.T) {
	at := noon
	c := arrivals.New(func() time.Time { return at })
	for i := range 100 {
		at = noon.Add(time.Duration(i)*time.Minute + 30*time.Second)
		for range i + 1 {
			c.Add(batch("acme", "weather", 0, varve.Stored))
		}
	}
	at = at.Add(2 * time.Minute)
	report := c.Report("acme")
	if len(report.Minutes) != arrivals.Minutes+1 || !report.Since.Equal(noon) {
		t.Fatalf("%d minutes since %s", len(report.Minutes), report.Since)
	}
	for i, m := range report.Minutes {
		index := 101 - arrivals.Minutes + i
		want := int64(index + 1)
		if index > 99 {
			want = 0
		}
		if !m.At.Equal(noon.Add(time.Duration(index)*time.Minute)) || m.Stored != want {
			t.Errorf("minute %d: %s has %d readings, want %d", i, m.At, m.Stored, want)
		}
	}
}

// TestReport_SeparatesTenants checks that a tenant sees only its own counts.
func TestReport_SeparatesTenants(t *testing.T) {
	c := arrivals.New(func() time.Time { return noon })
	c.Add(batch("acme", "weather", 0, varve.Stored))
	c.Add(batch("other", "machines", 0, varve.Stored))
	if s := c.Report("acme").Streams; len(s) != 1 || s[0].Name != "weather" {
		t.Errorf("acme sees %+v", s)
	}
	empty := c.Report("new")
	if len(empty.Streams) != 0 || len(empty.Minutes) != arrivals.Minutes+1 || empty.Minutes[arrivals.Minutes].Stored != 0 {
		t.Errorf("a new tenant sees %+v", empty)
	}
}

// TestCounter_BoundsStreams checks that rejected readings begin no stream, and that streams beyond
// the limit are counted together.
func TestCounter_BoundsStreams(t *testing.T) {
	c := arrivals.New(func() time.Time { return noon })
	for i := range 3000 {
		c.Add(batch("acme", fmt.Sprint("bad", i), 0, varve.Rejected))
	}
	if s := c.Report("acme").Streams; len(s) != 1 || s[0].Name != "" || s[0].Rejected != 3000 {
		t.Fatalf("got %d streams", len(s))
	}
	for i := range 3000 {
		c.Add(batch("acme", fmt.Sprint("good", i), 0, varve.Stored))
	}
	s := c.Report("acme").Streams
	var stored int64
	for i := range s {
		stored += s[i].Stored
	}
	if len(s) > 1001 || stored != 3000 || s[0].Name != "" || s[0].Stored < 2000 {
		t.Errorf("%d streams have %d readings, and the rest %d", len(s), stored, s[0].Stored)
	}
}

// TestCounter_BoundsTenants checks that the number of counted tenants is limited. Names in rejected readings, which
// may be any text, must leave room for other tenants and their streams.
func TestCounter_BoundsTenants(t *testing.T) {
	c := arrivals.New(func() time.Time { return noon })
	const tenants = 20_000
	counted := func(prefix string) (n int) {
		for i := range tenants {
			if m := c.Report(fmt.Sprint(prefix, i)).Minutes[arrivals.Minutes]; m.Stored+m.Rejected > 0 {
				n++
			}
		}
		return n
	}
	for i := range tenants {
		c.Add(batch(fmt.Sprint("bad", i), "x", 0, varve.Rejected))
	}
	if n := counted("bad"); n != 5000 {
		t.Errorf("%d tenants of rejected readings are counted, want 5000", n)
	}
	readings, verdicts := batch("acme", "weather", 0, varve.Rejected)
	stored, outcome := batch("acme", "weather", 0, varve.Stored)
	c.Add(append(readings, stored...), append(verdicts, outcome...))
	if s := c.Report("acme").Streams; len(s) != 1 || s[0].Name != "weather" || s[0].Stored != 1 {
		t.Errorf("got %+v, want the stored reading of stream weather", s)
	}
	for i := range tenants {
		c.Add(batch(fmt.Sprint("good", i), "x", 0, varve.Stored))
	}
	if n := counted("good"); n != 4999 {
		t.Errorf("%d further tenants are counted, want 4999", n)
	}
}

// TestCounter_CountsMixedBatch checks a batch with several streams, tenants and verdicts.
func TestCounter_CountsMixedBatch(t *testing.T) {
	c := arrivals.New(func() time.Time { return noon })
	var readings []varve.Reading
	var verdicts []varve.Verdict
	for i := range 12 {
		r, v := batch([]string{"acme", "other"}[i/6], []string{"a", "b"}[i/3%2], 0, []varve.Outcome{varve.Rejected, varve.Stored, 0}[i%3])
		readings, verdicts = append(readings, r...), append(verdicts, v...)
	}
	c.Add(readings, verdicts)
	for _, tenant := range []string{"acme", "other"} {
		var got []string
		report := c.Report(tenant)
		for _, s := range report.Streams {
			got = append(got, fmt.Sprint(s.Name, s.Stored, s.Rejected))
		}
		if want := "[0 2 a1 0 b1 0]"; fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", tenant, got, want)
		}
		if now := report.Minutes[arrivals.Minutes]; now.Stored != 2 || now.Rejected != 2 {
			t.Errorf("%s: %+v", tenant, now)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	c := arrivals.New(time.Now)
	readings, verdicts := make([]varve.Reading, 1000), make([]varve.Verdict, 1000)
	for i := range readings {
		r, v := batch("acme", "weather", time.Duration(i)*time.Minute, varve.Stored)
		readings[i], verdicts[i] = r[0], v[0]
	}
	for b.Loop() {
		c.Add(readings, verdicts)
	}
}
