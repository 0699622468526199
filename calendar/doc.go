// Package calendar forecasts the number, the content and the cost of tables.
//
//	tables now ─┐
//	policy ─────┼─▶ Simulate ─▶ Month, Month, … ─▶ Costs
//	load ───────┘   (rotator.Policy.Plan at each run)
//
// The main types and functions:
//
//   - [Simulate] applies the plans of [rotator.Policy] to a list of tables, from one run to the
//     next, as the rotator would. It returns a [Forecast] of each [Month].
//   - [DailyLoad] measures the present [Load], and Simulate assumes that it continues.
//   - [Lifetime] simulates until the number of tables no longer grows, or exceeds the quota.
//   - [Prices] returns the [Costs] of a month.
//
// These rules always hold:
//
//   - The plans are the rotator's own, so the forecast follows every rule that the rotator follows.
//   - Late and early readings count as current ones.
//   - No store is read or changed.
//
// A simulation fails only if its context ends. The functions change nothing, except [Assume], which changes
// the map that it gets.
package calendar
