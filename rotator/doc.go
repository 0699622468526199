// Package rotator creates tables before they are needed, and drops them after their readings have
// expired.
//
//	arrival month M:  ahead          │ open          │ sealed             │ retired   │ dropped
//	                  from M.start   │ from M.start  │ from M.end+Seal    │ + Grace
//	                  - MonthsAhead  │               │ to expiry + 2 days │
//
// The main types:
//
//   - [Policy] defines when tables are created, sealed, retired and dropped.
//   - [Plan] lists each due [Action]. It is computed only from the time, the policy and the
//     existing tables, so operators can inspect a plan before it is applied.
//   - [Rotator] makes and applies plans, and reports its [Health].
//
// These rules always hold:
//
//   - A table is retired only if all readings that can be in it have expired.
//   - A retired table is dropped only after the grace. Until then, it can be restored.
//   - Queries do not depend on retirement. They read every table that may contain readings that are
//     not expired.
//   - Actions are applied in the order of their kinds: creation first, drops last.
//   - One process of the cluster rotates at a time, under a lease.
//
// If an action fails, the run continues with the others. If a run stops between two actions, or its
// process dies, the next run applies the rest. [Rotator.Run] fails with lease.ErrHeld while another
// run is in progress, and [Rotator.RunPlan] with [ErrOtherPlan] if the plan has changed. A Rotator
// is safe for concurrent use.
package rotator
