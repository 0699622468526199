// Package rotator creates tables before they are needed, and drops them after their readings
// have expired.
//
//	arrival month M:  ahead          │ open          │ sealed             │ retired   │ dropped
//	                  from M.start   │ from M.start  │ from M.end+Seal    │ + Grace
//	                  - MonthsAhead  │               │ to expiry + 2 days │
//
// A [Plan] lists the actions that are due. It is computed only from the time, the [Policy] and
// the existing tables, so operators can inspect a plan before it is applied. The [Rotator] makes
// and applies plans, and reports its [Health].
//
//   - A table is retired only if all readings that can be in it have expired.
//   - A retired table is dropped only after the grace. Until then, it can be restored.
//   - Queries do not depend on retirement. They read every table that may contain readings that are
//     not expired.
//   - Actions are applied in the order of their kinds: creation first, drops last.
//
// If an action fails, the run continues with the others. If a run stops between two actions, the
// next run applies the rest.
package rotator
