package grid_test

import (
	"fmt"
	"time"

	"github.com/varvedb/varve/grid"
)

// The example prints the first and the last range of November 2026. The first range begins in 1970, and the
// last one is a week.
func ExamplePolicy_Ranges() {
	month := grid.MonthOf(time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC))
	ranges := grid.DefaultPolicy().Ranges(month)
	first, last := ranges[0], ranges[len(ranges)-1]
	for _, r := range []grid.Range{first, last} {
		fmt.Println(time.Unix(r.Start, 0).UTC().Format(time.DateOnly), time.Unix(r.End, 0).UTC().Format(time.DateOnly))
	}
	// Output:
	// 1970-01-01 2019-01-21
	// 2026-11-30 2026-12-07
}
