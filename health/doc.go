// Package health records the conditions that impair the service, or will impair it unless an
// operator acts.
//
// A [Condition] has one owner, which sets it when a fault begins and clears it when the fault ends.
// Readiness, metrics and varve doctor show the [Conditions] that are set.
//
//	rotator, disk guard, store ──▶ Conditions ──▶ /readyz, varve_condition, log
package health
