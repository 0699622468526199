// Package memtable holds the readings that are in the journal and not yet in chunks.
//
//	Entry ──▶ Memtable ──▶ Rows of one series, in a series buffer of the store
//	  │          Content: bodies and field names, shared by all series
//	  └─────▶ Record ──▶ journal ──▶ Decode, when the store is opened
//
// [Encode] encodes a reading as an [Entry] and a body. Memory and journal have the same bytes. A
// [Memtable] has the bodies, and [Rows] the order of one series. A [View] is a copy of rows for
// readers. A [Record] is the frame of one write in the journal.
//
// The package does not depend on tables, chunks or files. It has no locks: the store guards memtables and
// rows with one lock. Bodies never move, so a View stays valid after the lock is released.
//
// Nothing here fails, except that Decode and [ReadBody] refuse invalid bytes with [ErrBody].
package memtable
