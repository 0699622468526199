// Package outbox stores readings on the disk of a device until a server has confirmed them.
//
//	Append ──▶ group ──▶ write, sync ──▶ segment files ──▶ Next ──▶ Batch ──▶ Confirm
//	                                          │                    │         │
//	                                          │               Postponed      └── file CURSOR
//	                                          └── full: drop or refuse
//	                                                                              │
//	                                          removal ◀── FinishComparison ◀── Kept
//
// The main types:
//
//   - Outbox is the folder. Append adds records, Next reads them, and Confirm records that a server has them.
//   - Postponed has the records that Next has passed over, because the server does not store them at present.
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
//	         4 bytes CRC-32C of the segment number and the rest of the frame
//	         8 bytes synced: the bytes of the segment that were durable before the frame
//	         1 byte  kind: records, end of the segment
//	         n bytes payload
//
// All integers are little-endian. The file CURSOR has the confirmed offset of each segment, by number and
// tag, the age of kept segments, and the ranges of postponed records. Because of the tag, an entry has no
// effect on another segment with the same number. CURSOR.old is the file before the last write, and is
// used if CURSOR is missing or damaged.
//
// These rules always hold:
//
//   - A record is durable when Append returns without an error.
//   - Only damage and a full outbox with the policy DropOldest lose unconfirmed records, and both are
//     counted.
//   - Kept segments are removed before a record is dropped or refused. Their age does not depend on the
//     time of day. It is the running time of the outbox since the segment had ended and all its records
//     were confirmed.
//   - Postponed records stay in their segment until they are confirmed. If most readings of a segment are
//     confirmed, copies of the postponed records are appended, and the segment is kept or removed. Moved
//     records are not compared. A move displaces no unconfirmed record. A part of Options.MaxBytes is reserved
//     for the copies.
//   - After a power cut, a postponed record is returned at most twice.
//   - If the cursor is lost or out of date, confirmed records are returned once more. No record is
//     skipped.
//   - After a power cut, the last frames may be incomplete. They were not acknowledged.
//   - Any other invalid frame is damage. It is reported and counted, and the frames after it are
//     returned.
package outbox
