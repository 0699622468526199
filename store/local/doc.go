// Package local implements the embedded store: one process, one folder, no services.
//
//	             Store: Open, Close, and methods that delegate to one part each
//	  ┌────────────┬───────────┬──────┴──────┬──────────────┬───────────────┐
//	writer       reader     flusher      lifecycle   itemReader         repair
//	  │            │        compactor     catalog    itemStore, expiry  damageReport
//	  │            │           │             └──── changeLog ┘          quarantine
//	  ▼            ▼           ▼                       ▼                    ▼
//	memory: tables, series buffers,    ──▶   database: Pebble, journal, folder,
//	        mutable and immutable memtable             lost ranges, disk guard
//
// Each part has its own state, and links only to parts below or beside it. The opener and the
// recovery exist only while Open runs.
//
//	Write  writer ─▶ journal (durable) and memory; compares with memory, and with
//	       chunks unless the event time is after the max flushed time of the series
//	Read   reader ◀─ both memtables, level 0 and level 1, merged by position
//	Flush  flusher: rotates the memtable, encodes series buffers into chunks of level 0 or 1,
//	       commits them with the segment's number, and then removes the segments
//	       compactor: merges level 0 into level 1
//	Item   itemStore ─▶ changeLog ─▶ journal (durable) ─▶ Pebble
//	Table  lifecycle ─▶ catalog ─▶ changeLog ─▶ journal, Pebble, CATALOG
//	Open   opener: Pebble; recovery: journal ─▶ memory ─▶ flusher
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
// The main types are [Store] with its [Options] and [Events], [Folder], [Loss] and [Problem].
// Package memtable has the readings in memory, package chunk encodes chunks, and package journal is
// the write-ahead log. Package diskguard refuses writes before the disk is full. Package sst reads
// and writes files of Pebble.
//
// Locks are taken in this order: items, compactor, catalog, the barrier of changeLog, database,
// memory. Memory has a lock for tables, and one for each shard of the series (see memoryLock), so that
// all processors write at the same time. No I/O happens while memory is locked.
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
// store.ErrDamaged in these cases:
//
//   - VARVE, journal/ or pebble/ is missing, or belongs to another store.
//   - f is more than one below the first segment of the journal's chain, even after Pebble
//     was rebuilt from all its files. Then Pebble has lost data. Pebble is opened read-only to
//     learn f, because opening it for writing deletes files that it does not list.
//   - The chain ends with segment f or an earlier one. Then the journal has lost segments.
//   - A segment of the chain, or a frame in it, is missing or damaged.
//
// A crash may interrupt the creation of a new store, so VARVE is written last.
//
// # Readings
//
// Write looks up the series buffer of each reading. It searches the buffer for the same identity,
// and the chunks unless the event time is after the max flushed time of the series. Then it adds
// the reading to the journal and to the buffer, and waits until the journal is durable.
//
// When the memtable reaches Options.MemtableBytes, it becomes immutable, and the journal begins a
// new segment. A flush encodes each series buffer into chunks. One Pebble batch contains the chunks
// and f, the last segment that they cover. When that batch is in Pebble's files, the segments up to
// f are removed. Open replays only the segments after f. So after a crash, a reading comes from
// either the journal or a chunk, not from both. If the chain still lists segment f, and all
// segments are readable, Open replays all of them, and skips the readings that chunks have.
//
// # Changes
//
// A change of items or tables is one Pebble batch. It is appended to the journal. When it is
// durable there, it is applied to Pebble. So no reader sees a change that a power cut can revert.
//
// The items of a writer, or the catalog, are locked until then. If the wait of a writer fails, the
// next writer of the same data resolves the change first (see change_log.go). The journal begins no
// segment while a writer waits for its change. Before a flush records f, it applies the changes
// that no writer waits for. So Pebble has all changes of the segments up to f.
//
// Pebble makes batches durable in order. After a crash, it has a prefix of the applied batches, and
// the changes of the journal are applied to it once more. That is harmless: flushes and
// compactions, which are not in the journal, write other keys than these changes (see keys.go). A
// segment with many changes and few readings ends at Options.JournalBytes.
//
// # Chunks
//
// Level 1 contains disjoint chunks of a series, so a read seeks to its window. Chunks of level 0
// are small, or begin before the end of level 1, and may overlap. When a series has several of
// them, a compaction merges them into level 1.
//
// # Failure
//
// If the journal cannot be written, writes are refused as unavailable until the disk works. A
// full disk sets a condition. A damaged file is set aside while the store runs (quarantine.go).
// Open handles damage that it finds (opener.go). Reads and writes in lost ranges are refused
// until the losses are accepted (losses.go).
package local
