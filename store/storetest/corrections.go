package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// version returns a version of a reading with one number and an id that the client chose.
func version(id string, v uint32, at time.Time, value string) varve.Reading {
	r := own(id, at, value)
	r.ID = r.ID.WithVersion(v)
	return r
}

// testVersions checks that versions are stored side by side, in the order of their numbers. A
// repeated version with other values must be a conflict.
func testVersions(t *testing.T, e *env) {
	e.create(t, weekTable())
	steps := []struct {
		why      string
		readings []varve.Reading
		want     string
	}{
		{"versions are different readings",
			[]varve.Reading{version("m1", 2, start, "2"), version("m1", 0, start, "0"), version("m1", 10, start, "10")}, "sss"},
		{"a lower version that comes later is stored", []varve.Reading{version("m1", 1, start, "1")}, "s"},
		{"equal versions", []varve.Reading{version("m1", 2, start, "2.0"), version("m1", 2, start, "3"), version("m1", 0, start, "2")}, "dcc"},
		{"one id is the beginning of another", []varve.Reading{version("m1 b", 0, start, "5"), version("m10", 0, start, "6"), version("m", 7, start, "7")}, "sss"},
		{"a version of a content id", []varve.Reading{version(idOf999(), 1, start, "20"), reading("a", start, "999"), version(idOf999(), 1, start, "999")}, "ssc"},
		{"the values of the original", []varve.Reading{version(idOf999(), 2, start, "999"), version(idOf999(), 2, start, "999")}, "sd"},
		{"the highest version", []varve.Reading{version("m1", varve.MaxVersion, start, "9")}, "s"},
	}
	for _, s := range steps {
		if got := e.write(t, weekTable(), s.readings...); got != s.want {
			t.Errorf("%s: %s, want %s", s.why, got, s.want)
		}
	}
	r := e.Write(t.Context(), []store.Batch{{Table: weekTable(), Readings: []varve.Reading{version("m1", 2, start, "20")}}})
	want := varve.Reject(varve.CodeConflict, `version 2 of id "m1" is stored with {"value":2} and was sent with {"value":20}: send a higher version`)
	want.Stored = `{"value":2}`
	if r[0].Verdicts[0] != want {
		t.Errorf("got %+v, want %+v", r[0].Verdicts[0], want)
	}
	all := []varve.Reading{
		version("m", 7, start, "7"), version("m1", 0, start, "0"), version("m1", 1, start, "1"), version("m1", 2, start, "2"),
		version("m1", 10, start, "10"), version("m1", varve.MaxVersion, start, "9"), version("m1 b", 0, start, "5"), version("m10", 0, start, "6"),
		reading("a", start, "999"), version(idOf999(), 1, start, "20"), version(idOf999(), 2, start, "999"),
	}
	sortReadings(all)
	e.expect(t, weekTable(), "a", all...)
	for limit := range 4 {
		got, err := e.all(t.Context(), store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime(), Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, all)
	}
}

// testLatestOfVersions checks that Latest ignores a reading if a higher version of it has not expired.
func testLatestOfVersions(t *testing.T, e *env) {
	e.create(t, weekTable())
	at := func(r varve.Reading, minutes int) varve.Reading {
		return arrived(r, start.Add(time.Duration(minutes)*time.Minute))
	}
	newest, second := at(version("m1", 2, start, "2"), 1), at(version("m2", 0, start.Add(-time.Second), "5"), 2)
	e.write(t, weekTable(), at(version("m1", 1, start, "1"), 9), newest, at(version("m1", 0, start, "0"), 3), second)
	for by, want := range map[varve.By]varve.Reading{varve.ByEvent: newest, varve.ByArrival: second} {
		got, found, _, err := e.Latest(t.Context(), store.Latest{Table: weekTable(), Series: device("a"), By: by, Consistent: true})
		if err != nil || !found || !got.Equal(&want) {
			t.Errorf("latest by %s: %s arrived %s, %t %v, want %s", by, &got, got.Arrived, found, err, &want)
		}
	}
	got, found, _, err := e.Latest(t.Context(), store.Latest{
		Table: weekTable(), Series: device("a"), By: varve.ByArrival, Consistent: true, Cutoff: start.Add(150 * time.Second)})
	if err != nil || !found || got.ID.Version() != 1 {
		t.Errorf("after the highest version has expired: %s, %t %v, want version 1", &got, found, err)
	}
}

// testVersionsInLayouts writes versions with several row windows and shards, and in closed rows. Reads
// must return all versions in order.
func testVersionsInLayouts(t *testing.T, e *env) {
	e.create(t, weekTable())
	for i, l := range []store.Layout{{}, {RowWindow: time.Minute}, {RowWindow: time.Hour, Shards: 3}, {Shards: 3, Expect: store.ExpectNew}} {
		dev := fmt.Sprint("d", i)
		var want []varve.Reading
		for v := range uint32(12) {
			list := texts(dev, "x")
			for j := range list {
				list[j].ID = list[j].ID.WithVersion(v)
				list[j].Fields = []varve.Field{{Name: "text", Value: varve.StringValue(strings.Repeat("x", int(v)*40))}}
			}
			b := store.Batch{Table: weekTable(), Readings: list, Layout: func(varve.Series) store.Layout { return l }}
			if res := e.Write(t.Context(), []store.Batch{b}); res[0].Err != nil || letters(res[0].Verdicts) != strings.Repeat("s", len(list)) {
				t.Fatalf("%+v, version %d: %s %v", l, v, letters(res[0].Verdicts), res[0].Err)
			}
			want = append(want, list...)
		}
		sortReadings(want)
		for _, limit := range []int{0, 5, 97} {
			got, err := e.all(t.Context(), store.Range{Table: weekTable(), Series: device(dev), Window: varve.AllTime(), Layout: l, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	}
}
