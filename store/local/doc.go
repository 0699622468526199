// Package local implements the embedded store: one process, one folder, no services.
//
//	readings  Write ─▶ journal (durable) ─▶ memtable ── flush ─▶ chunks in Pebble ─▶ compaction
//	items     Put   ─▶ journal (durable) ─▶ Pebble
//	queries   Read  ◀─ both memtables, level 0 and level 1, merged by position
//
//	folder/
//	  VARVE      the format's version and the store's id; VARVE.restoring until a restore ends
//	  LOCK       locked by the process that has the folder open
//	  journal/   acknowledged data that is not in pebble/ yet, see package journal
//	  pebble/    tables, chunks, items; and a copy of VARVE
//	  CATALOG    a second copy of the tables; CATALOG.copy is equal
//	  DAMAGE     the lost key ranges; DAMAGE.copy is equal
//	  damaged/   damaged files, unchanged
//
// The main types are [Store] with its [Options] and [Events], [Folder], [Loss] and [Problem]. The
// parts of a Store are listed in store.go. A flush is described in flusher.go, changes in change_log.go,
// and keys in keys.go. Package memtable has the readings in memory, package chunk encodes chunks, and package
// journal is the write-ahead log. Package diskguard refuses writes before the disk is full. Package
// sst reads and writes files of Pebble.
//
// # Invariants
//
// All acknowledged data is in one of three places:
//
//   - in the files of Pebble,
//   - in the segments of the journal after segment f, a number that Pebble stores,
//   - in a range that DAMAGE lists.
//
// Pebble has no log of its own. Open checks these rules. Without Options.Salvage, it fails with
// [store.ErrDamaged] in these cases:
//
//   - VARVE, journal/ or pebble/ is missing, or belongs to another store.
//   - f is more than one below the first segment of the journal's chain, even after Pebble was
//     rebuilt from all its files. Then Pebble has lost data. Pebble is opened read-only to learn f,
//     because opening it for writing deletes files that it does not list.
//   - The chain ends with segment f or an earlier one. Then the journal has lost segments.
//   - A segment of the chain after segment f is missing or damaged: see package journal.
//
// A crash may interrupt the creation of a new store, so VARVE is written last.
//
// # Failure and concurrency
//
// If the journal cannot be written, writes are refused as unavailable until the disk works. A full
// disk sets a condition. A damaged file is set aside while the store runs (quarantine.go). Open
// handles damage that it finds (opener.go). Reads and writes in lost ranges are refused until the
// losses are accepted (losses.go). After a crash, Open replays the journal.
//
// A Store is safe for concurrent use. Locks are taken in this order: compactor, items, catalog, the
// barrier of changeLog, database, memory. Memory has a lock for tables, and one for each shard of the
// series, so that all processors write at the same time. No I/O happens while memory is locked.
package local
