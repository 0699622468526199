// Package memtable holds the readings that are in the journal and not yet in chunks.
//
//	Entry ──▶ Memtable ──▶ Rows of one series, in a series buffer of the store
//	  │          Content: bodies and field names, shared by all series
//	  └─────▶ Record ──▶ journal ──▶ Decode, when the store is opened
//
// [Encode] turns a reading into an [Entry] and a body, the same bytes for memory and journal. A
// [Memtable] keeps the bodies, and [Rows] the order of one series. A [View] is a copy of rows for
// readers. A [Record] is the frame of one write in the journal.
//
// The package knows no tables, chunks or files. It has no locks: the store guards memtables and
// rows with one lock. Bodies never move, so a View stays valid after the lock is released.
//
// Nothing here fails, except that Decode and [ReadBody] refuse invalid bytes with [ErrBody].
package memtable
