package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal/decimaltest"
	"github.com/varvedb/varve/store"
)

var series = varve.Series{Tenant: "acme", Stream: "weather", Device: "site/7#x"}

// TestPartial_RoundTripsItems checks that a sum does not depend on the order and grouping of its
// readings. Parsing the items of a partial must return the partial.
func TestPartial_RoundTripsItems(t *testing.T) {
	names := []string{"a", "b", "long name, with = and ü", "z"}
	rapid.Check(t, func(t *rapid.T) {
		var all, left, right tally
		var readings []varve.Reading
		for range rapid.IntRange(0, 12).Draw(t, "readings") {
			r := varve.Reading{Series: series, Time: time.Unix(0, rapid.Int64Range(0, 5).Draw(t, "at"))}
			for _, name := range names {
				switch rapid.IntRange(0, 3).Draw(t, name) {
				case 0:
					r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.StringValue("7")})
				case 1, 2:
					r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.NumberValue(decimaltest.Number().Draw(t, "n"))})
				}
			}
			r.ID = varve.HashID(uint64(len(readings)))
			if rapid.Bool().Draw(t, "named") {
				var err error
				if r.ID, err = varve.ParseID(strings.Repeat("ü", len(readings)+1)); err != nil {
					t.Fatal(err)
				}
			}
			readings = append(readings, r)
		}
		for i, r := range rapid.Permutation(readings).Draw(t, "order") {
			if i%2 == 0 {
				left.add(&r)
			} else {
				right.add(&r)
			}
		}
		for i := range readings {
			all.add(&readings[i])
		}
		right.merge(left.result())
		k := hourKey(series, 497887, 20747)
		most := rapid.SampledFrom([]int{1, 100, 400, maxPartBytes}).Draw(t, "bytes")
		want, got := all.result().items(k, most), right.result().items(k, most)
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("in order:\n%v\nin another:\n%v", want, got)
		}
		back := putTogether(t, want)
		if err := back.checkComplete(); err != nil {
			t.Fatal(err)
		}
		if again := back.items(k, most); fmt.Sprint(again) != fmt.Sprint(want) || back.Readings != int64(len(readings)) {
			t.Fatalf("read back:\n%v\nwritten:\n%v", again, want)
		}
	})
}

// threes returns a reading whose only field has the value 3.
func threes(name string) *varve.Reading {
	return &varve.Reading{
		Series: series, Time: time.Unix(5, 0), ID: varve.HashID(7), Fields: []varve.Field{{Name: name, Value: varve.IntValue(3)}},
	}
}

func putTogether(t interface{ Fatalf(string, ...any) }, items []store.Item) *Partial {
	found := partialSet{}
	var at slot
	for i := range items {
		var part int64
		var err error
		if at, part, err = parsePartialKey(items[i].SK); err == nil {
			err = found.addItem(&items[i], at, part, nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", items[i].SK, err)
		}
	}
	return found[at]
}

// TestParts_FollowFirstItem splits a partial into small items. The parts must sort after their
// first item. Parts of an earlier partial must be ignored. A partial that lacks a part must be
// incomplete.
func TestParts_FollowFirstItem(t *testing.T) {
	var all tally
	for i := range 10 {
		all.add(threes(strings.Repeat("long", 9) + fmt.Sprint(i)))
	}
	k := hourKey(series, 497887, 20747)
	items := all.result().items(k, 200)
	for i, it := range items {
		if n := len(it.Attrs[attrFields].Text()); n == 0 || n > 200 || i > 0 && items[i-1].Key.Compare(it.Key) >= 0 {
			t.Errorf("%d bytes in %s", n, it.SK)
		}
	}
	if n, _ := items[0].Attrs[attrParts].Int(); len(items) != 5 || n != 4 || items[4].SK != k.SK+"#0004" {
		t.Fatalf("%d items, %d parts, the last is %s", len(items), n, items[4].SK)
	}
	if next := hourKey(series, 497887, 20748); next.Compare(items[4].Key) <= 0 {
		t.Errorf("%s does not come behind %s", next.SK, items[4].SK)
	}
	for i := range items {
		if p := putTogether(t, slices.Delete(slices.Clone(items), i, i+1)); p != nil && p.checkComplete() == nil {
			t.Errorf("it is whole without number %d", i)
		}
	}
	var fewer tally
	fewer.add(threes("v"))
	stale := append(fewer.result().items(k, 200), items[1:]...)
	if p := putTogether(t, stale); p.checkComplete() != nil || len(p.Fields) != 1 {
		t.Errorf("with stale parts: %+v", p)
	}
}

// TestKeys_RoundTrip checks the keys of a marker, and that parsing a key returns its parts. Keys of
// other forms must be refused.
func TestKeys_RoundTrip(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC).Unix()
	m := dirtyMarker{from: hourOf(at), hours: 1, arrival: dayOf(at) + 1, until: at + 5400}
	it := m.item(series)
	if want := (store.Key{PK: "ROLLUP#acme/weather/site/7#x", SK: "X#1795269600#20261122#1795275000#01"}); it.Key != want {
		t.Errorf("%v, want %v", it.Key, want)
	}
	if want := "1795275000#acme/weather/site/7#x#1795269600#20261122#1795275000#01"; it.GSI1.SK != want || !strings.HasPrefix(it.GSI1.PK, "DIRTY#") {
		t.Errorf("%v, want %v", it.GSI1, want)
	}
	if s, got, err := parseMarker(it.Key); err != nil || s != series || got != m {
		t.Errorf("%v %+v, %v", s, got, err)
	}
	for _, k := range []store.Key{hourKey(series, hourOf(at), dayOf(at)), dayKey(series, dayOf(at), dayOf(at))} {
		s, part, err := parsePartialKey(partKey(k, 12).SK)
		if err != nil || part != 12 || s.arrival != dayOf(at) || s.hour != hourOf(at) && s.hour != dayOf(at) {
			t.Errorf("%s: %+v %d %v", k.SK, s, part, err)
		}
		if again, part, err := parsePartialKey(k.SK); err != nil || again != s || part != 0 {
			t.Errorf("%s: %+v %d %v", k.SK, again, part, err)
		}
	}
	for _, bad := range []store.Key{{}, {PK: "ROLLUP#a/b/c", SK: "X#1#2"}, {PK: "ROLLUP#a", SK: it.SK}, {PK: "TENANT#a/b/c", SK: it.SK}, {PK: it.PK, SK: "X#a#20261122#1#01"}} {
		if s, m, err := parseMarker(bad); err == nil {
			t.Errorf("%v is read as %v %v", bad, s, m)
		}
	}
}

func TestParsePartial_NamesDamagedItem(t *testing.T) {
	var p tally
	p.add(threes("v"))
	it := p.result().items(hourKey(series, 1, 1), maxPartBytes)[0]
	text := it.Attrs[attrFields].Text()
	for i := range text {
		if text[i] != '\t' {
			continue
		}
		it.Attrs[attrFields] = varve.StringValue(text[:i])
		if got, err := parsePartial(&it, nil); err == nil || !strings.Contains(err.Error(), it.SK) {
			t.Errorf("%q is read as %+v, %v", text[:i], got, err)
		}
	}
	it.Attrs[attrFields], it.Attrs[attrParts] = varve.StringValue(text), varve.StringValue("2")
	if got, err := parsePartial(&it, nil); err == nil || !strings.Contains(err.Error(), it.SK) {
		t.Errorf("parts of a text are read as %+v, %v", got, err)
	}
	delete(it.Attrs, attrReadings)
	if _, err := parsePartial(&it, nil); err == nil {
		t.Error("a partial without a count")
	}
}

// TestTally_CountsEachFieldOnce adds groups of readings with few or many fields. Each number must
// be counted once, and the fields must be sorted.
func TestTally_CountsEachFieldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := make([]string, rapid.SampledFrom([]int{3, maxLinearSearch, maxLinearSearch + 1, 5 * maxLinearSearch}).Draw(t, "names"))
		for i := range pool {
			pool[i] = fmt.Sprint("f", i*7919%1000)
		}
		slices.Sort(pool)
		only := fieldSetOf(rapid.SliceOfN(rapid.SampledFrom(pool), 0, 2).Draw(t, "only"))
		want, readings := map[string]int64{}, rapid.IntRange(0, 12).Draw(t, "readings")
		parts := [3]tally{{only: only}, {only: only}, {only: only}}
		for i := range readings {
			r := varve.Reading{Series: series, Time: time.Unix(int64(i), 0)}
			for _, name := range pool {
				if rapid.IntRange(0, 2).Draw(t, name) > 0 {
					continue
				}
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.IntValue(1)})
				if only == nil || only[name] {
					want[name]++
				}
			}
			parts[rapid.IntRange(0, 2).Draw(t, "part")].add(&r)
		}
		parts[0].merge(parts[1].result())
		parts[0].merge(parts[2].result())
		got := parts[0].result()
		if got.Readings != int64(readings) || len(got.Fields) != len(want) {
			t.Fatalf("%d readings of %d fields, want %d of %d", got.Readings, len(got.Fields), readings, len(want))
		}
		if !slices.IsSortedFunc(got.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Fatalf("not in order: %+v", got.Fields)
		}
		for i := range got.Fields {
			if f := &got.Fields[i]; f.Count != want[f.Name] || f.Sum.String() != fmt.Sprint(f.Count) {
				t.Fatalf("%s: %d, sum %s, want %d", f.Name, f.Count, &f.Sum, want[f.Name])
			}
		}
	})
}

type cancelingSource struct {
	after  int
	cancel context.CancelFunc
}

func (w *cancelingSource) ScanCopies(_ context.Context, _ varve.Series, _ varve.Window, scan store.CopyScanner) error {
	for i := range 2 * w.after {
		if i == w.after {
			w.cancel()
		}
		r := varve.Reading{Series: series, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}}}
		if err := scan.Copy(store.Copy{Reading: &r, First: true}); err != nil {
			return err
		}
	}
	return nil
}

// TestRecount_EndsWithContext cancels the context during a recount. The recount must fail instead
// of returning an incomplete partial.
func TestRecount_EndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := records{source: &cancelingSource{after: 3, cancel: cancel}}
	epoch := dayOf(time.Time{}.Unix())
	if got, err := r.recountSlots(ctx, series, newRecount(IgnoreResent, tally{}, map[slot]bool{{hourOf(time.Time{}.Unix()), epoch}: true}, nil, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}
