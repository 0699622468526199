// Package outbox stores readings on the disk of a device until a server has confirmed them.
//
//	Append ──▶ group ──▶ write, sync ──▶ segment files ──▶ Next ──▶ Batch ──▶ Confirm
//	                                          │                              │
//	                                          └── full: drop or refuse       └── file CURSOR
//	                                                                              │
//	                                          removal ◀── FinishComparison ◀── Kept
//
// The main types:
//
//   - Outbox is the folder. Append adds records, Next reads them, and Confirm records that a server has them.
//   - KeptSegment is a segment whose records are all confirmed, and which waits for a comparison with the server.
//   - Record has readings of one stream as NDJSON.
//   - Batch is a range of unconfirmed records of one segment.
//   - Disk is the file system. Tests replace it to simulate power cuts.
//
// The order of records is the order of Append. It does not depend on a clock, because the clock of a
// device may be wrong after each start.
//
// A segment file has a header and frames:
//
//	segment: 8 bytes "varve-o1"
//	         8 bytes segment number
//	         8 bytes random tag
//	         4 bytes CRC-32C of the header up to here
//	         frames
//	frame:   4 bytes length n of the payload
//	         4 bytes CRC-32C of the number and the rest of the frame
//	         8 bytes synced: the bytes of the segment that were durable before the frame
//	         1 byte  kind: records, end of the segment
//	         n bytes payload
//
// All integers are little-endian. The file CURSOR has the confirmed offset of each segment, by number
// and tag, and the age of kept segments. So the cursor of another segment with the same number has no effect.
//
// These rules always hold:
//
//   - A record is durable when Append returns without an error.
//   - Only damage and a full outbox with the policy DropOldest lose unconfirmed records, and both are
//     counted.
//   - Kept segments are removed before a record is dropped or refused. Their age does not depend on the time
//     of day. It is the running time of the outbox since the last record of the segment was confirmed.
//   - If the cursor is lost or out of date, confirmed records are returned once more. No record is
//     skipped.
//   - After a power cut, the last frames may be incomplete. They were not acknowledged.
//   - Any other invalid frame is damage. It is reported and counted, and the frames after it are
//     returned.
package outbox
