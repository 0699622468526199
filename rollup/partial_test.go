package rollup

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

var series = varve.Series{Tenant: "acme", Stream: "weather", Device: "site/7#x"}

// What readings add up to does not depend on their order or grouping, and an
// item gives it back whole, whatever fields, ids and numbers there are.
func TestPartialAsItem(t *testing.T) {
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
					r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.NumberValue(genNumber().Draw(t, "n"))})
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
		want, got := all.result().item(k), right.result().item(k)
		if want.Attrs[attrFields] != got.Attrs[attrFields] || !want.Attrs[attrReadings].Equal(got.Attrs[attrReadings]) {
			t.Fatalf("in order:\n%v\nin another:\n%v", want.Attrs, got.Attrs)
		}
		back, err := parsePartial(&want, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.item(k); again.Attrs[attrFields] != want.Attrs[attrFields] || back.Readings != int64(len(readings)) {
			t.Fatalf("read back:\n%v\nwritten:\n%v", again.Attrs, want.Attrs)
		}
	})
}

// Keys are read back, and sort as time does.
func TestKeys(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC).Unix()
	m := mark{from: hourOf(at), hours: 1, arrival: dayOf(at) + 1, until: at + 5400}
	it := m.item(series)
	if want := (store.Key{PK: "ROLLUP#acme/weather/site/7#x", SK: "X#1795269600#20261122#1795275000#01"}); it.Key != want {
		t.Errorf("%v, want %v", it.Key, want)
	}
	if want := "1795275000#acme/weather/site/7#x#1795269600#20261122#1795275000#01"; it.GSI1.SK != want || !strings.HasPrefix(it.GSI1.PK, "DIRTY#") {
		t.Errorf("%v, want %v", it.GSI1, want)
	}
	if s, got, err := parseMark(it.Key); err != nil || s != series || got != m {
		t.Errorf("%v %+v, %v", s, got, err)
	}
	for _, k := range []store.Key{hourKey(series, hourOf(at), dayOf(at)), dayKey(series, dayOf(at), dayOf(at))} {
		n, arrival, err := parseKey(k.SK)
		if err != nil || arrival != dayOf(at) || n != hourOf(at) && n != dayOf(at) {
			t.Errorf("%s: %d %d %v", k.SK, n, arrival, err)
		}
	}
	for _, bad := range []store.Key{{}, {PK: "ROLLUP#a/b/c", SK: "X#1#2"}, {PK: "ROLLUP#a", SK: it.SK}, {PK: "TENANT#a/b/c", SK: it.SK}, {PK: it.PK, SK: "X#a#20261122#1#01"}} {
		if s, m, err := parseMark(bad); err == nil {
			t.Errorf("%v is read as %v %v", bad, s, m)
		}
	}
}

// A damaged item is an error that names it.
func TestDamagedPartial(t *testing.T) {
	var p tally
	p.add(&varve.Reading{Series: series, Time: time.Unix(5, 0), ID: varve.HashID(7), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(3)}}})
	it := p.result().item(hourKey(series, 1, 1))
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
	delete(it.Attrs, attrReadings)
	if _, err := parsePartial(&it, nil); err == nil {
		t.Error("a partial without a count")
	}
}
