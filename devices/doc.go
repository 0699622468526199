// Package devices stores the records of devices.
//
//	readings ── Touch ──┬─ first reading: registered before the answer
//	                    └─ later ones: last seen, written in the background
//	api ── Get, List, Put, Delete
//	query ── Retention ── a cache of ten seconds
//	polls ── Exists ── a cache of a minute
//
// A record has the description, the last-seen time and a retention override. The main types:
//
//   - [Registry] is the entry point of the package.
//   - [Device] is one record, and [Query] selects records.
//   - [StreamFilter] selects the streams in which last-seen times are recorded as well.
//
// These rules always hold:
//
//   - A device is registered before its first reading is acknowledged.
//   - As long as a last-seen record exists, a process that knows the device does not register it
//     again. So [Registry.Delete] removes these records first.
//   - A last-seen time never decreases.
//
// If the store fails, readings of new devices are rejected as unavailable. Last-seen times of known
// devices stay in memory, and their writes are retried. A crash loses at most these pending times.
// A Registry is safe for concurrent use.
package devices
