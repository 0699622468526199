package tables

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/store/dynamo/client"
)

// useOf returns a use for each table with a number n, where from <= n < to. The names of the tables are
// long.
func useOf(from, to int) map[string]client.TableUse {
	used := map[string]client.TableUse{}
	for n := from; n < to; n++ {
		name := fmt.Sprintf("%s_%04d", strings.Repeat("x", 250), n)
		used[name] = client.TableUse{Units: client.Units{Read: 12345.678, Write: 12345.678}, ReadsThrottled: true, WritesThrottled: true}
	}
	return used
}

// TestMeasure_DividesReportOfManyTables reports the use of 1,700 tables for seven hours, and then the
// use of 100 of these tables and 200 others. Each item must fit into DynamoDB's 400 KB. Each table must
// be in one part, and must stay in it.
func TestMeasure_DividesReportOfManyTables(t *testing.T) {
	used := map[string]client.TableUse{}
	s := newScaler(nil, func() map[string]client.TableUse { return used })
	clock := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	s.measure(clock)
	last := map[string]int{}
	for hour := range 20 {
		used = useOf(0, 1700)
		if hour >= 7 {
			used = useOf(1600, 1900)
		}
		clock = clock.Add(time.Hour)
		parts, ok := s.measure(clock)
		if !ok || len(parts) != 4 {
			t.Fatalf("hour %d: %d parts, want 4", hour, len(parts))
		}
		in := map[string]int{}
		for n := range parts {
			it, err := parts[n].item(partKey("process", n))
			if size := len(it.Attrs[reportAttr].Text()); err != nil || size > 390_000 {
				t.Errorf("hour %d, part %d: %d bytes, %v; want at most 390,000", hour, n, size, err)
			}
			for table := range parts[n].Tables {
				if _, twice := in[table]; twice {
					t.Errorf("hour %d: %s is in two parts", hour, table)
				}
				if was, known := last[table]; known && was != n {
					t.Errorf("hour %d: %s has moved from part %d to %d", hour, table, was, n)
				}
				in[table] = n
			}
		}
		for table := range used {
			if _, ok := in[table]; !ok {
				t.Errorf("hour %d: %s is in no part", hour, table)
			}
		}
		last = in
	}
	if len(last) != 300 {
		t.Errorf("%d tables at the end, want 300", len(last))
	}
}
