// Package alerts evaluates the alert rules of tenants on stored readings, and stores the alerts.
//
//	write ── Observe ──┬─ devices: last seen
//	                   └─ evaluation: samples + records ── evaluate ── plan ── apply
//	clock ──┬─ CheckDeadman ── sweep: last seen + records ─┘
//	        └─ ResolveRetired ── open alerts of deleted and changed rules
//
// The main types:
//
//   - [Monitor] is the entry point of the package.
//   - [Rule] is a condition with a severity. Its kind, in a file rule_<kind>.go, checks, describes
//     and evaluates it.
//   - [Alert] is the published state of an episode: a sequence of readings for which a condition
//     holds. An episode has a record in the registry.
//   - [Outbox] lists changed alerts for their delivery, and [Source] returns the stored readings.
//
// An evaluation has three steps. The functions evaluate and clockKind.evaluate compute the wanted
// episodes; planOf compares them with the records. All three are pure functions. A stepWriter or an
// atomicWriter then applies the plan.
//
// These rules always hold:
//
//   - The alerts of a value rule are the same in any order of arrival, since they follow from the
//     stored readings. An alert that was resolved by hand stays resolved.
//   - An id that was returned once stays valid: it may lead to another alert.
//
// If the registry fails, readings to which a rule applies are rejected as unavailable. If even the
// rules cannot be read, all readings of the tenant are rejected. When they are resent, they are
// duplicates, and the evaluation is completed, also after a crash. A Monitor is safe for concurrent
// use.
package alerts
