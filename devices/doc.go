// Package devices stores the records of devices: descriptions, last-seen times, and retention
// overrides.
//
//	readings ── Touch ──┬─ first reading: registered before the answer
//	                    └─ later ones: last seen, written in the background
//	api ── Get, List, Put, Delete
//	query ── Retention ── a cache of ten seconds
//
// Registry is the entry point of the package. Device is one record. StreamFilter selects the
// streams in which last-seen times are recorded as well.
//
// A device is registered before its first reading is acknowledged. As long as a last-seen record
// exists, a process that knows the device does not register it again. So Delete removes these
// records first. A last-seen time never decreases.
//
// If the store fails, readings of new devices are rejected as unavailable. Last-seen times of
// known devices stay in memory, and their writes are retried.
package devices
