package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/mem"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func series(device string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}
}

func id(t interface{ Fatalf(string, ...any) }, text string) varve.ID {
	v, err := varve.ParseID(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return v
}

// TestDigest_MatchesVectors checks the test vectors of docs/reconciliation.md.
func TestDigest_MatchesVectors(t *testing.T) {
	first := time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC).UnixNano()
	minute := int64(time.Minute)
	vectors := []struct {
		readings []varve.Position
		text     string
	}{
		{nil, "AAAAAAAAAAAAAAAAAAAAAA"},
		{[]varve.Position{{Time: first, ID: id(t, "1")}}, "2ut2cZeio2HrRvl7uCwkCA"},
		{[]varve.Position{{Time: first + minute, ID: id(t, "2")}}, "bA8p0pUeUBYGWXaDMOtfDg"},
		{[]varve.Position{{Time: first, ID: id(t, "1")}, {Time: first + minute, ID: id(t, "2")}}, "RvqgRCzA83fxoG_-6ReDFg"},
		{[]varve.Position{{Time: first, ID: id(t, "EHJ0CP1xDFm")}}, "C3lqFTrfqs5tBj8Ayvyseg"},
		{[]varve.Position{{Time: first, ID: id(t, "1").WithVersion(12)}}, "eifgIC64HKw_eMrsb_MTnA"},
		{[]varve.Position{{Time: 0, ID: id(t, "état")}}, "Stkl71H20We3CsxlBpNFbg"},
	}
	for _, v := range vectors {
		var d reconcile.Digest
		for _, p := range v.readings {
			d.Add(reconcile.HashOf(p))
		}
		if d.String() != v.text {
			t.Errorf("%v: %s, want %s", v.readings, d, v.text)
		}
	}
}

// TestDiffer_RejectsUnclearSpans checks that Differ refuses spans that overlap or do not begin at the start of
// a period. It must also refuse a digest that is too short, and a span with too many periods.
func TestDiffer_RejectsUnclearSpans(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(nil), Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	reader := reconcile.Reader{Readings: e.Query}
	for _, c := range []struct {
		spans  []reconcile.Span
		period rollup.Period
		param  string
	}{
		{[]reconcile.Span{{From: noon.Add(time.Minute)}}, rollup.Hourly, "spans.from"},
		{[]reconcile.Span{{From: noon}}, rollup.Daily, "spans.from"},
		{[]reconcile.Span{{From: noon, Digests: []string{"AAAAAAA"}}}, rollup.Hourly, "spans.digests"},
		{[]reconcile.Span{{From: noon, Digests: make([]string, reconcile.MaxPeriods+1)}}, rollup.Hourly, "spans"},
		{[]reconcile.Span{{From: noon, Digests: make([]string, 1)}, {From: noon, Digests: make([]string, 1)}}, rollup.Hourly, "spans"},
		{[]reconcile.Span{{From: noon.Add(2 * time.Hour), Digests: make([]string, 1)}, {From: noon, Digests: make([]string, 3)}}, rollup.Hourly, "spans"},
		{[]reconcile.Span{{From: noon.Add(time.Hour), Digests: make([]string, 1)}, {From: noon, Digests: make([]string, 1)}}, rollup.Hourly, ""},
	} {
		_, err := reader.Differ(t.Context(), series("a"), c.period, c.spans)
		if e := (*varve.Error)(nil); errors.As(err, &e) != (c.param != "") || e != nil && e.Param != c.param {
			t.Errorf("%s spans %v: %v, want an error of %q", c.period, c.spans, err, c.param)
		}
	}
}

// TestDiffer_SeparatesExpired checks that periods whose readings may have expired are in
// Difference.Expired, and not in Difference.Differ.
func TestDiffer_SeparatesExpired(t *testing.T) {
	clock := noon
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(nil), Now: func() time.Time { return clock }, Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	clock = noon.Add(engine.DefaultRetention) // readings until noon have expired
	reader := reconcile.Reader{Readings: e.Query}
	d, err := reader.Differ(t.Context(), series("a"), rollup.Hourly, []reconcile.Span{{From: noon.Add(-time.Hour), Digests: []string{"AAAAAAAB", "AAAAAAAB", "AAAAAAAB", ""}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Expired) != 2 || len(d.Differ) != 1 || !d.Differ[0].Equal(noon.Add(time.Hour)) || d.Compared != 4 || !d.CompleteFrom.Equal(noon.Add(time.Millisecond)) {
		t.Errorf("%+v", d)
	}
}

// TestDiffer_SeparatesErased compares hours after some readings were erased. An hour that overlaps a
// window of an erasure must be in Difference.Expired if it differs.
func TestDiffer_SeparatesErased(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(nil), Now: func() time.Time { return noon }, Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	from := noon.Add(-6 * time.Hour)
	reader := reconcile.Reader{Readings: e.Query, Erased: func(_ context.Context, s varve.Series) ([]varve.Window, error) {
		if s != series("a") {
			return nil, nil
		}
		return []varve.Window{{From: from.Add(time.Hour), To: from.Add(2 * time.Hour)}, {From: from.Add(4 * time.Hour), To: from.Add(4*time.Hour + time.Minute)}}, nil
	}}
	for device, want := range map[string]string{"a": "differ [0 2 3 5], expired [1 4]", "b": "differ [0 1 2 3 4 5], expired []"} {
		text := "AAAAAAAB" // the digest of a reading that the store lacks
		d, err := reader.Differ(t.Context(), series(device), rollup.Hourly, []reconcile.Span{{From: from, Digests: []string{text, text, text, text, text, text, ""}}})
		if err != nil {
			t.Fatal(err)
		}
		numbers := func(starts []time.Time) (list []int) {
			for _, start := range starts {
				list = append(list, int(start.Sub(from)/time.Hour))
			}
			return list
		}
		if got := fmt.Sprintf("differ %v, expired %v", numbers(d.Differ), numbers(d.Expired)); got != want || d.Compared != 7 {
			t.Errorf("device %s: %s, want %s", device, got, want)
		}
	}
}

func TestSet_NilIsEmpty(t *testing.T) {
	var s *reconcile.Set
	if n, spans := s.Len(), s.Spans(rollup.Hourly, nil); n != 0 || spans != nil {
		t.Errorf("%d readings and spans %v, want none", n, spans)
	}
}
