package rotator_test

import (
	"fmt"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

// A plan depends only on the policy, the time and the existing tables.
func ExamplePolicy_Plan() {
	policy := rotator.Policy{
		Grid:      grid.DefaultPolicy(),
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: "default", Retention: 365 * 24 * time.Hour}}},
	}
	plan := policy.Plan(time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC), nil)
	kinds := map[rotator.Kind]int{}
	for _, a := range plan.Actions {
		kinds[a.Kind]++
	}
	fmt.Println(kinds, plan.Current.Wanted, plan.Ahead.Wanted)
	// Output: map[create:42] 21 21
}
