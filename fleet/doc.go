// Package fleet keeps what is known of devices beside their readings: who they
// are and whether they report, the log of their states, and the alerts that
// rules raise on their readings. All of it is items of the registry.
//
//	router ── Watch ──┬─ last seen: in memory, written by a goroutine of its own
//	                  └─ rules ── stored readings around those that came ── alerts
//	clock  ── CheckSilence ── last seen of devices ── alerts
//	api    ── devices, logs, rules, alerts
//
// Readings are asked for through Source; how they are stored is not known here.
package fleet
