// Package changes finds the readings of a stream by arrival: all that arrived since a cursor.
//
//	write   Tracker   puts change markers, durable before their readings
//	read    Reader    settled time ─▶ minutes ─▶ markers ─▶ readings of series, by query
//	poll    Cursor    the settled time up to which all readings were returned
//
// A change marker records that readings of a series arrived in a minute, and the event hours of
// these readings. So a device that sends current readings needs about one marker a minute, however
// many it sends. docs/data-model.md has the items. The main types:
//
//   - [Tracker] writes markers, [Reader] opens [Rows], and [Cursor] continues them.
//   - [Settled] returns the time up to which arrivals are settled: every write with such an arrival
//     has ended. [Horizon] makes it durable: a process that starts with an earlier clock continues
//     from there. [Cluster] does the same for several processes.
//
// These rules always hold:
//
//   - The union of all pages since a time is the set of acknowledged readings that arrived since
//     that time. A cursor is never after the settled time.
//   - A reading is returned once, at its first arrival, however many copies of it exist. Once the
//     table of its first copy is dropped, a later copy is a new reading.
//   - A query covers all devices, or one, and all event times. Expired readings are not returned.
//
// A cursor from before the oldest complete time fails with [varve.Gone]. If the registry fails, no
// reading of an indexed stream is written. If a write fails after its marker, the marker remains
// and is harmless. Tracker, Reader, Horizon and Cluster are safe for concurrent use, but not Rows.
package changes
