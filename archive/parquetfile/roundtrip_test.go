package parquetfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/decimal"
)

// TestBuilder_ReturnsErrorOfConcurrentPut adds readings whose types need a file each, and checks that a
// later call returns the error of the first file.
func TestBuilder_ReturnsErrorOfConcurrentPut(t *testing.T) {
	failure := errors.New("the disk is full")
	b := parquetfile.NewBuilder(parquetfile.Options{GroupRows: 1, Concurrent: true, Put: func(parquetfile.File) error { return failure }})
	var err error
	for i := range 5 {
		r := varve.Reading{Series: varve.Series{Tenant: "a", Stream: "s", Device: "d"}, Time: time.Unix(int64(i), 0).UTC(), Arrived: time.Unix(9, 0).UTC()}
		r.Fields = []varve.Field{{Name: "a", Value: []varve.Value{varve.IntValue(1), varve.StringValue("x")}[i%2]}}
		r.Normalize()
		if err = b.Add(&r); err != nil {
			break
		}
	}
	if !errors.Is(err, failure) {
		t.Errorf("%v, want the error of Put", err)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("the error is returned twice: %v", err)
	}
}

// TestFile_HoldsReadingsExactly checks that random readings, added one by one or as columns, are read
// back with the same text of each number.
func TestFile_HoldsReadingsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genReadings(t)
		files := write(t, want, parquetfile.Options{
			Table: "some", GroupRows: rapid.SampledFrom([]int{1, 7, 50}).Draw(t, "rows"), MaxBytes: rapid.SampledFrom([]int{1, 1 << 20}).Draw(t, "bytes"),
			Concurrent: rapid.Bool().Draw(t, "concurrent"),
		}, rapid.Bool().Draw(t, "columns"))
		for _, exact := range []bool{true, false} {
			got := read(t, files, exact)
			if len(got) != len(want) {
				t.Fatalf("%d readings, want %d", len(got), len(want))
			}
			for i := range want {
				if !got[i].Equal(&want[i]) || exact && show(&got[i]) != show(&want[i]) {
					t.Fatalf("exact %t, reading %d:\n got %s\nwant %s", exact, i, show(&got[i]), show(&want[i]))
				}
			}
		}
	})
}

func show(r *varve.Reading) string {
	s := fmt.Sprintf("%s %d %s arrived %d", r.Series, r.Time.UnixNano(), r.ID, r.Arrived.UnixMilli())
	for _, f := range r.Fields {
		s += fmt.Sprintf(" %q=%s(%s)", f.Name, f.Value.Kind(), f.Value)
	}
	return s
}

// genReadings draws sorted readings of a few series, with values of every kind and size.
func genReadings(t *rapid.T) []varve.Reading {
	var all []varve.Reading
	seen := map[string]bool{}
	narrow := rapid.Bool().Draw(t, "narrow")
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		r := varve.Reading{
			Series: varve.Series{
				Tenant: rapid.SampledFrom([]string{"acme", "b"}).Draw(t, "tenant"), Stream: rapid.SampledFrom([]string{"s", "weather"}).Draw(t, "stream"),
				Device: rapid.SampledFrom([]string{"d", "a/b", "ä"}).Draw(t, "device"),
			},
			Time:    time.Unix(rapid.Int64Range(0, 5).Draw(t, "at")*60, rapid.SampledFrom([]int64{0, 1, 999}).Draw(t, "ns")).UTC(),
			Arrived: time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "arrived")).UTC(),
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"temperature", "Temperature", "v", "time", "a b", "ü.x", "fields", "1"}), 1, 4, rapid.ID).Draw(t, "names")
		for _, name := range names {
			v := number(t)
			if !narrow {
				v = value(t)
			}
			r.Fields = append(r.Fields, varve.Field{Name: name, Value: v})
		}
		if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
			id, err := varve.ParseID(rapid.SampledFrom([]string{"x", "y", "-----------"}).Draw(t, "id"))
			if err != nil {
				t.Fatal(err)
			}
			r.ID = id.WithVersion(rapid.SampledFrom([]uint32{0, 0, 1, 2, varve.MaxVersion}).Draw(t, "version"))
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		if key := r.String(); !seen[key] {
			seen[key] = true
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b varve.Reading) int {
		if c := a.Series.Compare(b.Series); c != 0 {
			return c
		}
		return a.Position().Compare(b.Position())
	})
	return all
}

func number(t *rapid.T) varve.Value {
	coef := rapid.SampledFrom([]int64{0, 1, 20, -215, 2150, 999999999999999999, -9223372036854775807}).Draw(t, "coef")
	return varve.NumberValue(decimal.FromScaled(coef, -rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "scale")))
}

func value(t *rapid.T) varve.Value {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return varve.StringValue(rapid.SampledFrom([]string{"", "on", "<&>\"\\", "ß\u2028"}).Draw(t, "text"))
	case 1:
		return varve.BoolValue(rapid.Bool().Draw(t, "bool"))
	case 2:
		v, err := varve.JSONValue([]byte(rapid.SampledFrom([]string{`{"a":1.50,"b":[true,null]}`, `[]`}).Draw(t, "json")))
		if err != nil {
			t.Fatal(err)
		}
		return v
	case 3:
		n, err := decimal.Parse(rapid.SampledFrom([]string{
			"1e-100", "1e100", "12345678901234567890.123456789", "99999999999999999999999999999999999999", "0.0000000000000000000000000000000000001",
			"-170141183460469231731687303715884105727", "1.500000000000000000000000000000000000", "0.00000000000000000000", "1e20",
		}).Draw(t, "wide"))
		if err != nil {
			return varve.IntValue(3) // the drawn number has more than 38 digits
		}
		return varve.NumberValue(n)
	default:
		return number(t)
	}
}

type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func write(t tester, list []varve.Reading, o parquetfile.Options, columns bool) (files []parquetfile.File) {
	t.Helper()
	o.Put = func(f parquetfile.File) error {
		files = append(files, f)
		return nil
	}
	b := parquetfile.NewBuilder(o)
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to].Series == list[from].Series {
			to++
		}
		if columns {
			part := partOf(t, list[from:to])
			if err := b.AddPart(&part); err != nil {
				t.Fatal(err)
			}
		}
		for i := from; i < to && !columns; i++ {
			if err := b.Add(&list[i]); err != nil {
				t.Fatal(err)
			}
		}
		from = to
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files
}

// read reads all readings of files, and checks the descriptions of the files.
func read(t tester, files []parquetfile.File, exact bool) (all []varve.Reading) {
	t.Helper()
	for _, f := range files {
		rd, err := parquetfile.Open(bytes.NewReader(f.Body), int64(len(f.Body)))
		if err != nil {
			t.Fatal(err)
		}
		first := len(all)
		for i := range rd.Groups() {
			blocks, err := rd.ReadGroup(i, exact)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				for k := range b.Len() {
					var r varve.Reading
					b.Fill(k, &r)
					all = append(all, r)
				}
			}
		}
		if rd.Rows() != f.Readings || int64(len(all)-first) != f.Readings || all[first].Series != f.First || all[len(all)-1].Series != f.Last {
			t.Fatalf("%d rows, described as %d from %s to %s", len(all)-first, f.Readings, f.First, f.Last)
		}
	}
	return all
}

// TestOpen_RefusesDamage opens and reads a damaged file. That may fail or return readings, but must not
// panic.
func TestOpen_RefusesDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := write(t, genReadings(t), parquetfile.Options{GroupRows: 20}, false)
		body := slices.Clone(files[0].Body)
		switch rapid.IntRange(0, 1).Draw(t, "damage") {
		case 0:
			body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		case 1:
			body = body[:rapid.IntRange(0, len(body)-1).Draw(t, "length")]
		}
		rd, err := parquetfile.Open(bytes.NewReader(body), int64(len(body)))
		for i := 0; err == nil && i < rd.Groups(); i++ {
			_, err = rd.ReadGroup(i, true)
		}
	})
}
