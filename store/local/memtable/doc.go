// Package memtable holds the readings that are in the journal and not yet in chunks.
//
//	Entry ──▶ Memtable ──▶ Rows of one series, in a series buffer of the store
//	  │          Content: bodies and field names, shared by all series
//	  └─────▶ Record ──▶ journal ──▶ Decode, when the store is opened
//
// [Encode] encodes a reading as an [Entry] and a body. Memory and journal have the same bytes. A
// [Memtable] holds the bodies, and [Rows] hold the order of one series. A [View] is a copy of rows
// for readers. A [Record] is the payload of one frame of the journal.
//
// The package knows no tables and reads no files. It has no locks: the store guards memtables and
// rows with one lock. Bodies never move, so a View stays valid after the lock is released.
//
// Only invalid bytes cause errors: [Decode], [ReadBody] and the methods of a View return [ErrBody].
package memtable
