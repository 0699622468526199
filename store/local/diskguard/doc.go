// Package diskguard refuses writes before a disk is full.
//
//	free space              permitted writes
//	above the minimum       all writes
//	below the minimum       items, and writes that free space
//	below half of it        only writes that free space
//	a write found no room   none, and writes of Pebble wait
//
// A store on a full disk can neither write nor clean up. So the space below the minimum is a reserve. The
// last half of the reserve is only for writes that free space: rotation, drops and deletes.
//
// A [Guard] reuses a check of the disk for a second, and sets and clears the condition
// [health.DiskLow]. After a write has found no room, all writes are refused until the disk has
// room. [Guard.WaitingFS] makes the writes of Pebble wait instead. Refused writes may be retried. A
// Guard is safe for concurrent use.
package diskguard
