package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
)

func testSeries(t *testing.T, b *budget, names ...string) *series {
	t.Helper()
	step, err := ParseStep("1m", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := ParseFunctions(names)
	if err != nil {
		t.Fatal(err)
	}
	return newSeries(&Query{Step: step, Functions: functions, Window: varve.AllTime()}, b)
}

func addReading(s *series, sec int64, fields ...string) error {
	if err := s.beginReading(sec, varve.Position{Time: sec * 1e9}); err != nil {
		return err
	}
	for _, name := range fields {
		if err := s.addValue(name, varve.IntValue(sec)); err != nil {
			return err
		}
	}
	return nil
}

// TestSeries_ReleasesNumbersOfCompleteBuckets checks that only the numbers of one bucket at a time
// are in memory for percentiles.
func TestSeries_ReleasesNumbersOfCompleteBuckets(t *testing.T) {
	b := &budget{}
	s := testSeries(t, b, "p50", "mean")
	for sec := range int64(90) {
		if err := addReading(s, sec, "t", "u"); err != nil {
			t.Fatal(err)
		}
	}
	if b.collected != 60 || b.values != 8 {
		t.Errorf("%d numbers, %d values, want 2 fields of 30 seconds, and 2 buckets × 2 fields × 2 functions", b.collected, b.values)
	}
	if rows, err := s.finish("a"); err != nil || len(rows) != 2 || b.collected != 0 {
		t.Errorf("%d rows, %d numbers, %v", len(rows), b.collected, err)
	}
}

func TestBudget_RefusesMore(t *testing.T) {
	full := &budget{collected: MaxPercentileNumbers, values: MaxValues}
	for name, err := range map[string]error{
		"functions: percentiles hold more than 1000000 numbers":              full.addCollected(1),
		"step: more than 200000 buckets × devices × fields × functions: use": full.addValues(1),
	} {
		if varve.FailureOf(err) != varve.Invalid || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	s := testSeries(t, &budget{collected: MaxPercentileNumbers}, "p50")
	if err := addReading(s, 0, "t"); err == nil {
		t.Error("a number beyond the limit is accepted")
	}
	s = testSeries(t, &budget{values: MaxValues - 1}, "mean")
	if err := addReading(s, 0, "t"); err != nil {
		t.Errorf("the last value: %v", err)
	}
	if err := addReading(s, 0, "t", "u"); err == nil {
		t.Error("a field beyond the limit is accepted")
	}
}

// addMany adds readings with many fields to two buckets of a new series, in two orders. It returns the
// series, the names of the fields in their order, and the duration.
func addMany(t *testing.T, fields int) (s *series, names []string, took time.Duration) {
	t.Helper()
	names = make([]string, fields)
	for i := range names {
		names[i] = fmt.Sprintf("f%05d", i)
	}
	s = testSeries(t, &budget{}, "sum")
	begin := time.Now()
	for sec := range int64(4) {
		if err := addReading(s, 20*(sec+1), names...); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(names)
	}
	return s, names, time.Since(begin)
}

// TestSeries_FindsFieldsAmongMany adds readings with 20,000 fields. A linear search for each field would
// take about ten times as long as for ten series with 2,000 fields. The test tries several times, because
// other work on the machine may delay one of them.
func TestSeries_FindsFieldsAmongMany(t *testing.T) {
	const fields, parts, most = 20_000, 10, 4
	few, many := time.Hour, time.Hour
	for try := 0; try == 0 || try < 3 && many > most*few; try++ {
		total := time.Duration(0)
		for range parts {
			_, _, took := addMany(t, fields/parts)
			total += took
		}
		_, _, took := addMany(t, fields)
		few, many = min(few, total), min(many, took)
	}
	t.Logf("%d fields take %s, and %d series with %d fields take %s", fields, many, parts, fields/parts, few)
	if many > most*few {
		t.Errorf("%d fields take %s, and %d series with %d fields take %s", fields, many, parts, fields/parts, few)
	}
	s, names, _ := addMany(t, fields)
	rows, err := s.finish("a")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v, want 2", len(rows), err)
	}
	for i, want := range []string{"60", "140"} { // 20 + 40, and 60 + 80, by bucket
		for k, f := range rows[i].Fields {
			if got := string(f.Values[0].Append(nil)); f.Name != names[k] || got != want {
				t.Fatalf("row %d: the sum of %s is %s, want %s of %s", i, f.Name, got, want, names[k])
			}
		}
		if len(rows[i].Fields) != fields {
			t.Errorf("row %d has %d fields, want %d", i, len(rows[i].Fields), fields)
		}
	}
}
