// Package alerts has the rules of tenants, and the alerts that readings raise.
//
//	router ── Watch ──┬─ devices: last seen
//	                  └─ rules of the series ── stored readings ── episodes ── alerts
//	clock ──┬─ CheckSilence ── last seen of devices ── alerts of deadman rules
//	        └─ ResolveRetired ── alerts of deleted and changed rules
//
// Monitor is the entry to all of it. Rule says when an alert is raised, Alert is
// one episode of it, and Source returns the stored readings.
//
// The alerts of a value rule are the same in any order of arrival: they follow from
// the stored readings. An alert that was resolved by hand stays resolved.
//
// If the store fails, readings under a rule are rejected for now. When they are
// resent, they are duplicates, and the evaluation is completed.
package alerts
