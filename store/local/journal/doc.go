// Package journal is the embedded store's write-ahead log: everything that was
// acknowledged and is not yet in Pebble's tables. It consists of numbered
// segment files of checksummed frames, made durable by group commit, and of a
// chain that says which segments there must be.
//
// Writers append frames to one open group; a goroutine writes the group and
// syncs it while the next one gathers. So the cost of a sync is shared by all
// that wait for it, and nobody waits longer than two syncs.
//
//	segment: 8 bytes "varve-j2"
//	         8 bytes segment number
//	        16 bytes id of the store
//	         8 bytes length that the file had before its first frame
//	         4 bytes CRC-32C of the header up to here
//	         frames
//	frame:   4 bytes length n of the payload
//	         4 bytes CRC-32C of store id, segment number and what follows
//	         8 bytes synced: the segment's bytes before it that were durable
//	           when the frame was appended
//	         8 bytes length of the file that was durable then
//	         1 byte  kind: readings, a batch of changes, end of the segment
//	         n bytes payload
//
// After the frames there may be zeros, for later frames to overwrite. All
// integers are little-endian. Segments "varve-j1" are of format 1: their
// header ends after the number, and their frames lack length and kind.
//
// CHAIN.0 and CHAIN.1 name the store and the first and last segment that was
// begun. They are written in turn: a segment is in the chain before its first
// frame is acknowledged, and leaves the chain before its file is removed.
//
// A crash leaves at most one trace: the last frames are cut short or do not
// check. Nobody was told that they were written, and Replay leaves them out.
// It cannot tell them from acknowledged frames that were damaged, so it counts
// them. Everything else is damage, and Replay says so:
//
//   - a frame that does not check, and a later frame knows that the place had
//     been durable;
//   - a file that is shorter than a frame in it, or its header, knows;
//   - a segment without its end frame, and a later segment has frames;
//   - a segment that is missing, or of another number or store.
//
// Damage to one of the two files of the chain is survived: the other serves.
//
// A failed write is retried until it succeeds. Those who waited for it are
// told of the failure; what they wrote may become durable all the same.
package journal
