// Package diskguard refuses writes before a disk is full.
//
//	free space   above the minimum     all writes
//	             below the minimum     no readings
//	             below half of it      no items
//	             no room               nothing, and writes of Pebble wait
//
// A store on a full disk can neither write nor clean up. So the space below the minimum is a
// reserve for writes that free space: rotation, drops and deletes.
//
// A [Guard] reuses a check of the disk for a second, and sets and clears the condition
// health.DiskLow. After a write found no room, all writes are refused until the disk has room.
package diskguard
