// Package local is the embedded store: one process, one folder, no services.
//
//	folder/
//	  VARVE      what this folder is: the format's version and the store's id
//	  LOCK       held by the process that has it open
//	  journal/   what was acknowledged and is not in pebble/ yet, see package journal
//	  pebble/    tables, chunks, items; and a copy of VARVE
//	  CATALOG    the tables again, and CATALOG.copy
//	  DAMAGE     key ranges that damage took, and DAMAGE.copy
//	  damaged/   damaged files as they were found
//
// # What must be true
//
// Everything acknowledged is in Pebble's tables, or in the segments of the
// journal after the one that Pebble's key f names, or in a range that DAMAGE
// names. Pebble has no log of its own. Open checks this before it changes
// anything, and fails with store.ErrDamaged if
//
//   - VARVE, journal/ or pebble/ is missing, or belongs to another store;
//   - f is below the first segment of the journal's chain, less one, also if
//     Pebble is rebuilt from all its files: it has lost what it held. It is
//     opened read-only to learn f, because it deletes the files that it has
//     lost track of;
//   - a segment that the chain names, or a frame in it, is missing or damaged.
//
// A new store is made in steps that a crash may interrupt: VARVE comes last.
//
// # Readings
//
// A reading's way in: Write finds the tail of its series in its table, looks
// whether it is there already (in the tail, or in chunks if its time is not
// after all of them), appends it to the journal and to the tail, and returns
// when the journal is durable. When the tails have grown to Options.TailBytes,
// they are frozen, the journal begins a new segment, and flush turns every
// frozen tail into chunks; one Pebble batch has the chunks together with f, the
// number of the last journal segment that they hold. When Pebble has that batch
// in its tables, the segments up to f are removed. So a reading is always in
// exactly one of journal and chunks, whenever the process dies.
//
// # Changes
//
// A change of items or tables is one Pebble batch. It is appended to the journal
// and applied to Pebble when it is durable there, so nobody sees a change that a
// power cut can undo. Who changes holds the locks of its items, or of the
// catalog, until then; if its wait fails, the next to change the same resolves
// the change before (see change.go). From append to application a change holds a
// barrier against the next segment: a flush with f follows all changes of the
// segments up to f. Pebble makes batches durable in order, so what it holds
// after a crash is a beginning of what was applied, and the journal's changes
// are applied again on top. That is harmless: keys.go says which keys they and
// the batches that are not in the journal (flushes, merges) write.
//
// Changes alone, without readings, end a segment by Options.JournalBytes.
//
// # Chunks
//
// Chunks have two levels. Those of level 1 hold disjoint runs of a series, so a
// read seeks to its window. Those of level 0 are small or late and may overlap
// anything; when a series has gathered a few of them, they are merged into
// level 1.
//
// A read merges the two tails, level 0 and level 1.
//
// A damaged file is set aside while the store runs; see setaside.go for files,
// start.go for what is found when the store opens, and losses.go for what is
// refused from then on.
package local
