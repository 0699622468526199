// Package memtable holds the readings that are in the journal and not yet in chunks.
//
//	Entry ──▶ Memtable ──▶ Rows of one series, in a series buffer of the store
//	  │          Content: bodies and field names, shared by all series
//	  └─────▶ Record ──▶ journal ──▶ Decode, when the store is opened
//
// The main types and functions:
//
//   - [Encode] encodes a reading as an [Entry] and a body. Memory and journal store the same bytes.
//   - [Memtable] holds the bodies, and [Rows] hold the order of one series.
//   - [View] is a copy of rows for readers, and converts rows to columns.
//   - [Cache] holds packed columns of rows that were read before.
//   - [Record] is the payload of one frame of the journal.
//
// These rules always hold:
//
//   - The package does not use tables or files.
//   - The store guards each shard and its rows with a lock. Only the cache has a lock of its own.
//   - Bodies never move, so a View stays valid after the lock of the shard is released.
//
// Only invalid bytes cause errors: [Decode], [ReadBody] and the methods of a View return [ErrBody].
// Nothing here is durable. After a crash, the store replays the records.
package memtable
