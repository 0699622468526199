// Package journal is the embedded store's log of what has been acknowledged
// and is not yet in chunks: numbered segment files of checksummed frames,
// made durable by group commit.
//
// Writers append frames to one open group; a goroutine writes the group and
// syncs it while the next one gathers. So the cost of a sync is shared by all
// that wait for it, and nobody waits longer than two syncs.
//
//	segment: 8 bytes "varve-j1", 8 bytes segment number, frames
//	frame:   4 bytes length n of the payload
//	         4 bytes CRC-32C of segment number, synced and payload
//	         8 bytes synced: the segment's bytes before it that were durable
//	           when the frame was appended
//	         n bytes payload
//
// Behind the frames there may be zeros, for later frames to overwrite.
//
// All integers are little-endian. A frame that does not check ends the
// segment: the write was cut short and nobody was told that it succeeded. But
// if a later frame says that the place had been durable, acknowledged data was
// damaged, and Replay says so.
//
// A failed write is tried again until it succeeds. Those who waited for it are
// told of the failure; what they wrote may become durable all the same.
package journal
