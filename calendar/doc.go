// Package calendar forecasts the number, the content and the cost of tables.
//
//	tables now ─┐
//	policy ─────┼─▶ Simulate ─▶ Month, Month, … ─▶ Costs
//	load ───────┘   (rotator.Policy.Plan at each run)
//
// [Simulate] applies the plans of [rotator.Policy] to a list of tables, from one run to the next,
// as the rotator would. It assumes that readings continue to arrive at the present [Load].
//
//   - The plans are the rotator's own, so the forecast follows every rule that the rotator follows.
//   - Late and early readings count as current ones.
//   - No store is read or changed.
package calendar
