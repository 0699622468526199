// Package journal implements the write-ahead log of the embedded store.
//
// The log consists of numbered segment files with checksummed frames, and of a chain that lists the
// required segments. It has acknowledged data that is not in Pebble's files yet.
//
//	segment: 8 bytes "varve-j2"
//	         8 bytes segment number
//	        16 bytes id of the store
//	         8 bytes length that the file had before its first frame
//	         4 bytes CRC-32C of the header up to here
//	         frames
//	frame:   4 bytes length n of the payload
//	         4 bytes CRC-32C of store id, segment number and the rest of the frame
//	         8 bytes synced: number of bytes of the segment that were durable
//	           when the frame was appended
//	         8 bytes length of the file that was durable then
//	         1 byte  kind: readings, a batch of changes, end of the segment
//	         n bytes payload
//
// Zeros may follow the frames, and later frames overwrite them. All integers are little-endian.
// Segments that begin with "varve-j1" are of format 1. Their header ends after the number, and
// their frames have no length of the file and no kind. CHAIN.0 and CHAIN.1 contain the id of the
// store, a generation, and the first and the last segment of the chain. They are written in turn.
// If one of them is damaged, the other one suffices.
//
//   - [Writer] appends frames and returns a [Commit] for each. Callers append to one open group,
//     while a goroutine writes and syncs the group before it. So all waiting callers share the cost
//     of a sync, and wait for at most two syncs.
//   - [Source] replays each [Frame], and returns a [Report]. [Chain] is the list of segments.
//
// A segment is in the chain before its first frame is acknowledged, and leaves the chain before its
// file is removed. After a crash, the last frames may be incomplete or fail their checksum. They
// were not acknowledged, and Replay discards them. They look like acknowledged frames that were
// damaged, so Replay counts them. All other deviations are damage, which Replay reports:
//
//   - A frame fails its checksum although a later frame records that it was durable.
//   - A file is shorter than its header or a frame in it records.
//   - A segment has no end frame, but a later segment has frames.
//   - A segment is missing, or belongs to another number or store.
//
// A failed write is retried until it succeeds or the journal is closed. The waiting callers get the
// failure, but their data may become durable later. Damage gives [ErrDamaged], unless
// Source.Salvage is set. A Writer is safe for concurrent use, except Prepare, Rotate, Remove and
// CopyTo.
package journal
