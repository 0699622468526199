package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// own returns a reading with one number and an id that the client chose.
func own(id string, at time.Time, value string) varve.Reading {
	return named(reading("a", at, value), id)
}

func testConflicts(t *testing.T, e *env) {
	e.create(t, weekTable())
	steps := []struct {
		why      string
		readings []varve.Reading
		want     string
	}{
		{"the second reading of a call is compared with the first",
			[]varve.Reading{own("m1", start, "999"), own("m1", start, "20"), own("m1", start, "999.0"), own("m1", start, "20")}, "scdc"},
		{"later calls are compared with the stored readings",
			[]varve.Reading{own("m1", start, "20"), own("m1", start, "999"), own("m1", start, "20"), own("m1", start, "5")}, "cdcc"},
		{"an id belongs to one device and time",
			[]varve.Reading{own("m1", start.Add(1), "20"), named(reading("b", start, "20"), "m1")}, "ss"},
		{"a hash of other content",
			[]varve.Reading{own("A2345678901", start, "1"), own("A2345678901", start, "2"), own("A2345678901", start, "1")}, "scd"},
		{"content ids never conflict",
			[]varve.Reading{reading("a", start, "999"), reading("a", start, "20"), reading("a", start, "999")}, "ssd"},
		{"the hash of stored content with other content",
			[]varve.Reading{own(idOf999(), start, "20"), own(idOf999(), start, "999")}, "cd"},
	}
	for _, s := range steps {
		if got := e.write(t, weekTable(), s.readings...); got != s.want {
			t.Errorf("%s: %s, want %s", s.why, got, s.want)
		}
	}
	r := e.Write(t.Context(), []store.Batch{{Table: weekTable(), Readings: []varve.Reading{own("m1", start, "20")}}})
	want := varve.Reject(varve.CodeConflict, `id "m1" is stored with {"value":999} and was sent with {"value":20}: send another id`)
	want.Stored = `{"value":999}`
	if r[0].Verdicts[0] != want {
		t.Errorf("got %+v, want %+v", r[0].Verdicts[0], want)
	}
	all := []varve.Reading{
		own("m1", start, "999"), own("m1", start.Add(1), "20"), own("A2345678901", start, "1"), reading("a", start, "999"), reading("a", start, "20"),
	}
	sortReadings(all)
	e.expect(t, weekTable(), "a", all...)
}

func idOf999() string {
	r := reading("a", start, "999")
	return r.ID.String()
}

// testConflictsInLayouts resends readings with several row windows, numbers of shards and values of
// Layout.Expect, also to overflow rows. Equal readings must be duplicates, and other values conflicts.
func testConflictsInLayouts(t *testing.T, e *env) {
	e.create(t, weekTable())
	var layouts []store.Layout
	for _, window := range []time.Duration{0, time.Minute, time.Hour} {
		for _, shards := range []int{0, 3} {
			for _, expect := range []store.Expect{store.ExpectAuto, store.ExpectNew, store.ExpectExisting} {
				layouts = append(layouts, store.Layout{RowWindow: window, Shards: shards, Expect: expect})
			}
		}
	}
	for i, l := range layouts {
		dev := fmt.Sprint("d", i)
		send := func(why, text, want string) {
			for part := range slices.Chunk(texts(dev, text), 4) {
				b := store.Batch{Table: weekTable(), Readings: part, Layout: func(varve.Series) store.Layout { return l }}
				res := e.Write(t.Context(), []store.Batch{b})
				if got := letters(res[0].Verdicts); res[0].Err != nil || got != strings.Repeat(want, len(part)) {
					t.Fatalf("%+v, %s: %s %v, want all %s", l, why, got, res[0].Err, want)
				}
			}
		}
		send("new", "x", "s")
		send("a retry", "x", "d")
		send("other values", "y", "c")
		send("a retry after conflicts", "x", "d")
	}
}

// texts returns readings of about 300 bytes with ids that the client chose. Many have nearby event
// times, so that some rows become closed rows.
func texts(dev, text string) (list []varve.Reading) {
	for i := range 24 {
		at := start.Add(time.Duration(i%4) * 7 * time.Minute)
		r := with(dev, at, varve.Field{Name: "text", Value: varve.StringValue(strings.Repeat(text, 300))})
		list = append(list, named(r, fmt.Sprint("m", i)))
	}
	return list
}

// testConflictsOfValues checks values of all kinds. A reading that is resent with an equal value
// must be a duplicate, and with another value a conflict.
func testConflictsOfValues(t *testing.T, e *env) {
	e.create(t, weekTable())
	values := slices.Concat(awkwardNumbers(), []varve.Value{
		varve.StringValue(""), varve.StringValue("1"), varve.StringValue("é\n\"<\u2028"), varve.BoolValue(true), varve.BoolValue(false),
		document(t, `{}`), document(t, `[]`), document(t, `{"a":[1.50,"<x>",null,true,{"":1e-7}]}`), document(t, `{"a":1}`), document(t, `{"a":"1"}`),
	})
	one := func(i int, v varve.Value, name string) varve.Reading {
		return named(with("a", start, varve.Field{Name: name, Value: v}), fmt.Sprint("m", i))
	}
	for i, v := range values {
		other := values[(i+1)%len(values)]
		if got := e.write(t, weekTable(), one(i, v, "v")); got != "s" {
			t.Fatalf("%s: %s, want s", v, got)
		}
		if got := e.write(t, weekTable(), one(i, v, "v"), one(i, other, "v"), one(i, v, "w")); got != "dcc" {
			t.Errorf("%s, then %s: %s, want dcc", v, other, got)
		}
	}
}

func awkwardNumbers() (list []varve.Value) {
	for _, s := range []string{"0", "1.50", "-1.5", "12345678901234567890123456789012345678", "1e-130", "9.9e125", "-120", "0.10"} {
		list = append(list, number(s))
	}
	return list
}

func document(t *testing.T, text string) varve.Value {
	t.Helper()
	v, err := varve.JSONValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// testConcurrentConflicts checks many concurrent writers that send different values with the same
// ids. For each id, one writer must succeed. The other writers must get conflicts that show the
// values of that writer.
func testConcurrentConflicts(t *testing.T, e *env) {
	e.create(t, weekTable())
	const ids, writers = 30, 6
	verdicts := make([][]varve.Verdict, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			b := store.Batch{Table: weekTable()}
			for i := range ids {
				b.Readings = append(b.Readings, own(fmt.Sprint("m", i), start, fmt.Sprint(w)))
			}
			verdicts[w] = e.Write(t.Context(), []store.Batch{b})[0].Verdicts
		})
	}
	wg.Wait()
	for i := range ids {
		winner := slices.IndexFunc(verdicts, func(v []varve.Verdict) bool { return v[i].Outcome == varve.Stored })
		for w := range writers {
			v := verdicts[w][i]
			if w != winner && (v.Code != varve.CodeConflict || v.Stored != fmt.Sprintf(`{"value":%d}`, winner)) {
				t.Errorf("m%d of writer %d: %s %s, and writer %d stored its own", i, w, v, v.Stored, winner)
			}
		}
	}
}
