// Package rotator creates tables before they are needed, and drops them after their readings
// have expired.
//
//	arrival month M:  ahead          │ open          │ sealed             │ retired   │ dropped
//	                  from M.start   │ from M.start  │ from M.end+Seal    │ + Grace
//	                  - MonthsAhead  │               │ to expiry + 2 days │
//
// A [Plan] lists the actions that are due. It is a pure function of the time, the [Policy] and
// the existing tables, so it can be inspected before it is applied. The [Rotator] plans and
// applies, and reports its [Health].
//
//   - A table is retired only if all readings that it can hold have expired.
//   - A retired table is dropped only after a grace, in which it can be restored.
//   - Queries do not depend on retirement: they read each table that can hold living readings.
//   - Actions are applied in the order of their kinds: creation first, drops last.
//
// If an action fails, the others continue. If a run stops between two actions, the next run
// completes it.
package rotator
