// Package outbox stores readings on the disk of a device until a server has confirmed them.
//
//	Append ──▶ group ──▶ write, sync ──▶ segment files ──▶ Next ──▶ Batch ──▶ Confirm
//	                                          │                    │         │
//	                                          │               Postponed      └── file CURSOR
//	                                          └── full: drop or refuse                │
//	                                          removal ◀── FinishComparison ◀── Kept ◀─┘
//
// The main types:
//
//   - [Outbox] is the folder of segments: its methods add, read and confirm records.
//   - [Record] has readings of one stream as NDJSON, and [Batch] unconfirmed records of a segment.
//   - [Postponed] has the records that Next has passed over, because the server does not store them
//     at present.
//   - [KeptSegment] has only confirmed records, and waits for a comparison with the server.
//   - [Disk] is the file system. Tests replace it to simulate power cuts.
//
// These rules always hold:
//
//   - A record is durable when Append returns without an error. Records have the order of Append,
//     not of a clock, because the clock of a device may be wrong after each start.
//   - Only damage and a full outbox with the policy [DropOldest] lose unconfirmed records, and both
//     are counted. Kept segments are removed before a record is dropped or refused.
//   - The age of a kept segment does not depend on the time of day. It begins when the segment has ended
//     and all its records are confirmed, and grows only while the outbox is open.
//   - Postponed records stay in their segment until they are confirmed or moved. They are moved once at
//     least half of the segment's readings are confirmed: copies are appended, and the segment is kept or
//     removed. A move displaces no unconfirmed record, because a part of Options.MaxBytes is reserved for
//     copies. Moved records are not compared.
//
// After a power cut, the last frames may be incomplete, and were not acknowledged. Any other
// invalid frame is damage: it is reported and counted, and the frames after it are returned. A
// power cut during a move may leave one more copy of a postponed record. If the cursor is lost or out of
// date, confirmed records are returned once more. No record is skipped. A call that failed with [ErrFull]
// may be retried. After [ErrClosed], the outbox must be opened again. An Outbox is safe for concurrent use,
// but only one goroutine may call Next and Confirm. See frame.go and cursor.go for the formats.
package outbox
