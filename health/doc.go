// Package health holds the conditions that keep the service from its work, or
// will if nobody acts.
//
// A condition has one owner, which sets it when the trouble begins and clears it
// when the trouble ends. Readiness, metrics and varve doctor show those that hold.
//
//	rotator, disk guard, store ──▶ Conditions ──▶ /readyz, varve_condition, log
package health
