// Package memtable holds the readings that are in the journal and not yet in chunks.
//
//	Entry ──▶ Memtable ──▶ Rows of one series, in a series buffer of the store
//	  │          Content: bodies and field names, shared by all series
//	  └─────▶ Record ──▶ journal ──▶ Decode, when the store is opened
//
// [Encode] encodes a reading as an [Entry] and a body. Memory and journal store the same bytes. A
// [Memtable] holds the bodies, and [Rows] hold the order of one series. A [View] is a copy of rows
// for readers. A [Record] is the payload of one frame of the journal.
//
// A View converts rows to columns. The [Cache] of a memtable holds packed columns of rows that were
// read before.
//
// The package does not use tables or files. The store guards memtables and rows with one lock.
// Only the cache has a lock of its own. Bodies never move, so a View stays valid after the lock of the
// store is released.
//
// Only invalid bytes cause errors: [Decode], [ReadBody] and the methods of a View return [ErrBody].
package memtable
