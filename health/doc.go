// Package health records the conditions that impair the service, or soon will.
//
//	rotator, disk guard, store ──▶ Conditions ──▶ /readyz, varve_condition, log
//
// The main types:
//
//   - [Condition] is a condition that is set, with its cause and remedy for the operator.
//   - [Conditions] is the set. Readiness, metrics and varve doctor show it.
//   - [Name] identifies a condition, and [Name.Blocks] reports whether readings are refused
//     meanwhile.
//
// A condition has one owner, which sets it when a fault begins and clears it when the fault ends.
// Setting a condition twice replaces only its message. The set is only in memory, so it is empty
// after a start. No method fails. Conditions are safe for concurrent use, and a nil one ignores
// changes.
package health
