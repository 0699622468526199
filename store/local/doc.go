// Package local is the embedded store: one process, one folder, no services.
//
//	folder/
//	  VARVE      what this folder is, and the format's version
//	  LOCK       held by the process that has it open
//	  journal/   what was acknowledged and is not in chunks yet
//	  pebble/    tables, chunks, items
//
// A reading's way in: Write finds the tail of its series in its table, looks
// whether it is there already (in the tail, or in chunks if its time is not
// after all of them), appends it to the journal and to the tail, and returns
// when the journal is durable. When the tails have grown to Options.TailBytes,
// they are frozen, the journal begins a new segment, and flush turns every
// frozen tail into chunks; one Pebble batch commits the chunks together with
// the number of the last journal segment that they hold. So a reading is
// always in exactly one of journal and chunks, whenever the process dies.
//
// Chunks have two levels. Those of level 1 hold disjoint runs of a series, so a
// read seeks to its window. Those of level 0 are small or late and may overlap
// anything; when a series has gathered a few of them, they are merged into
// level 1.
//
// A read merges the two tails, level 0 and level 1.
package local
