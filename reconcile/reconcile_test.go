package reconcile_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/storetest"
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

// bruteDigest computes a digest with math/big, as docs/reconciliation.md describes it.
func bruteDigest(list []varve.Position) string {
	sum := new(big.Int)
	for _, p := range list {
		hash := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, uint64(p.Time)), p.ID.String()...))
		sum.Add(sum, new(big.Int).SetBytes(hash[:16]))
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 128))
	return base64.RawURLEncoding.EncodeToString(sum.FillBytes(make([]byte, 16)))
}

// columnStore is a store that returns readings as columns.
type columnStore struct{ *mem.Store }

// ReadBlocks implements store.BlockReader.
func (s columnStore) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return storetest.ReadBlocks(ctx, s, r, dst)
}

// TestReader_AgreesWithBruteForce writes random readings, in one arrival month or once more in the
// next one. The digests of the store must equal a sum with math/big. A comparison with a sender's set
// must find exactly the periods with lost readings.
func TestReader_AgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := noon
		var s store.Store = mem.New(func() time.Time { return clock })
		if rapid.Bool().Draw(t, "columns") {
			s = columnStore{s.(*mem.Store)}
		}
		e, err := engine.Open(context.Background(), engine.Options{Store: s, Now: func() time.Time { return clock }, Holder: "test"})
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Fatalf("%v", err)
			}
		}()
		var set reconcile.Set
		stored, lost := map[varve.Position]bool{}, map[varve.Position]bool{}
		var sent []varve.Reading
		for range rapid.IntRange(0, 60).Draw(t, "readings") {
			r := varve.Reading{
				Series: series("a"), Time: noon.Add(-time.Duration(rapid.IntRange(0, 4*24*3600).Draw(t, "ago")) * time.Second),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(rapid.Int64Range(0, 9).Draw(t, "v"))}},
			}
			if rapid.Bool().Draw(t, "own id") {
				r.ID = id(t, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"))
			}
			if v := r.Normalize(); v.Outcome == varve.Rejected {
				t.Fatalf("%s", v)
			}
			set.Add(&r)
			if rapid.IntRange(0, 9).Draw(t, "fate") == 0 {
				lost[r.Position()] = true
				continue
			}
			sent = append(sent, r)
			stored[r.Position()] = true
		}
		for range rapid.IntRange(1, 2).Draw(t, "times") {
			write(t, e, sent)
			clock = clock.AddDate(0, 1, 0)
		}
		clock = clock.AddDate(0, -1, 0)
		for p := range stored {
			delete(lost, p)
		}
		reader := reconcile.Reader{Readings: e.Query}
		for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			a, err := reader.Read(context.Background(), reconcile.Query{Series: series("a"), Window: varve.AllTime(), Period: p})
			if err != nil {
				t.Fatalf("%v", err)
			}
			checkPeriods(t, a, p, stored)
			checkDifference(t, &reader, p, set.Spans(p, nil), lost)
		}
	})
}

func write(t *rapid.T, e *engine.Engine, readings []varve.Reading) {
	q, err := e.Router.Admit()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer q.Done()
	list := make([]varve.Reading, len(readings))
	for i := range readings {
		list[i] = readings[i].Clone()
	}
	if err := q.Write(context.Background(), list, make([]varve.Verdict, len(list))); err != nil {
		t.Fatalf("%v", err)
	}
}

// startOf returns the start of the period of an event time.
func startOf(p rollup.Period, nanos int64) time.Time {
	if p == rollup.Daily {
		return time.Unix(0, nanos).UTC().Truncate(24 * time.Hour)
	}
	return time.Unix(0, nanos).UTC().Truncate(time.Hour)
}

func checkPeriods(t *rapid.T, a *reconcile.Answer, p rollup.Period, stored map[varve.Position]bool) {
	all := map[time.Time][]varve.Position{}
	var whole []varve.Position
	for at := range stored {
		all[startOf(p, at.Time)] = append(all[startOf(p, at.Time)], at)
		whole = append(whole, at)
	}
	for _, c := range a.Periods {
		if want := all[c.Start]; c.Readings != int64(len(want)) || c.Digest.String() != bruteDigest(want) {
			t.Fatalf("%s of %s: %d %s, want %d %s", p, c.Start, c.Readings, c.Digest, len(want), bruteDigest(want))
		}
	}
	if len(a.Periods) != len(all) || a.Total.Readings != int64(len(whole)) || a.Total.Digest.String() != bruteDigest(whole) {
		t.Fatalf("%d periods with %d readings, want %d with %d", len(a.Periods), a.Total.Readings, len(all), len(whole))
	}
}

func checkDifference(t *rapid.T, reader *reconcile.Reader, p rollup.Period, spans []reconcile.Span, lost map[varve.Position]bool) {
	d, err := reader.Differ(context.Background(), series("a"), p, spans)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var want []time.Time
	for at := range lost {
		if start := startOf(p, at.Time); !slices.Contains(want, start) {
			want = append(want, start)
		}
	}
	slices.SortFunc(want, time.Time.Compare)
	if !slices.EqualFunc(d.Differ, want, time.Time.Equal) || len(d.Expired) > 0 {
		t.Fatalf("%s: %v differ, want %v; expired %v", p, d.Differ, want, d.Expired)
	}
}

// TestDiffer_RejectsUnclearSpans checks spans that do not begin at the start of a period, a digest that
// is too short, and a span with too many periods.
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
		span   reconcile.Span
		period rollup.Period
		param  string
	}{
		{reconcile.Span{From: noon.Add(time.Minute)}, rollup.Hourly, "spans.from"},
		{reconcile.Span{From: noon}, rollup.Daily, "spans.from"},
		{reconcile.Span{From: noon, Digests: []string{"AAAAAAA"}}, rollup.Hourly, "spans.digests"},
		{reconcile.Span{From: noon, Digests: make([]string, reconcile.MaxPeriods+1)}, rollup.Hourly, "spans"},
	} {
		_, err := reader.Differ(t.Context(), series("a"), c.period, []reconcile.Span{c.span})
		if e := (*varve.Error)(nil); !errors.As(err, &e) || e.Param != c.param {
			t.Errorf("%s from %s: %v, want an error of %s", c.period, c.span.From, err, c.param)
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

// TestSet_NilIsEmpty checks that a nil *Set has no readings and no spans.
func TestSet_NilIsEmpty(t *testing.T) {
	var s *reconcile.Set
	if n, spans := s.Len(), s.Spans(rollup.Hourly, nil); n != 0 || spans != nil {
		t.Errorf("%d readings and spans %v, want none", n, spans)
	}
}
