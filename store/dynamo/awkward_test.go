package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// wideReading has many fields.
func wideReading(at time.Time, fields int) varve.Reading {
	r := sensor(at, "f000", varve.IntValue(1))
	for f := 1; f < fields; f++ {
		r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("f%03d", f), Value: varve.IntValue(int64(f))})
	}
	r.ID = varve.ID{}
	r.Normalize()
	return r
}

// TestManyFields: readings of any number of fields go into rows that are there,
// whatever is expected of them.
func TestManyFields(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			for i, fields := range []int{1, 59, 60, 61, 149, 199, 256} {
				for j, expect := range []store.Expect{store.ExpectExisting, store.ExpectNew} {
					at := someTime.Add(time.Duration(i*10+j) * time.Hour / 24)
					l := store.Layout{RowWindow: time.Hour, Expect: expect}
					lay(t, s, tb, l, sensor(at, "f000", varve.IntValue(-1)))
					if got := lay(t, s, tb, l, wideReading(at, fields)); got != "s" {
						t.Errorf("%d fields, expecting %d: %s", fields, expect, got)
					}
				}
			}
		})
	}
}

// TestEmptyNames: JSON with an empty name, which DynamoDB does not have, comes
// back as it was, and does not hold up its neighbours.
func TestEmptyNames(t *testing.T) {
	t.Parallel()
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			var readings []varve.Reading
			for i, text := range []string{`{"":1}`, `{"a":{"":[]}}`, `[{"":{"":""}}]`, `{"a":""}`} {
				v, err := varve.JSONValue([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				readings = append(readings, sensor(someTime.Add(time.Duration(i)*time.Second), "v", v))
			}
			l := store.Layout{RowWindow: time.Hour}
			if got := lay(t, s, tb, l, readings...); got != "ssss" {
				t.Errorf("verdicts %s", got)
			}
			compare(t, s, store.Range{Table: tb, Series: readings[0].Series, Window: varve.AllTime(), Layout: l, Consistent: true}, readings)
		})
	}
}
