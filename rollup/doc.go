// Package rollup keeps exact sums of readings by the hour and by the day, for
// ever: after any mix of retries, crashes, late uploads and concurrent writers a
// roll-up equals a recount of the distinct readings, also when older readings of
// the same hour have long expired.
//
//	Marker   before readings are written: a mark says that an hour is dirty
//	Worker   a mark that nobody relies on any more: counts the hour anew from
//	         the readings, writes its partial, and then removes the mark
//	Reader   adds the partials up; dirty hours it counts itself
//
// A partial holds the readings of a series and an hour that first arrived on one
// day. It is always counted anew from the readings as a whole, and never added
// to: counting twice changes nothing. What arrives on a later day is another
// partial, so partials outlive the readings that they were counted from. A reading
// counts in the partial of its first copy only: while that copy is in a table, the
// table tells, and later the partial's fingerprints do, or its digests of minutes.
//
// A mark carries the time until which writers may rely on it. Writers give up a
// minute before, by their clocks; the worker waits for a quarter of an hour
// longer, by its own: clocks may differ by ten minutes.
//
// In the registry, all in the partition ROLLUP#<tenant>/<stream>/<device>:
//
//	H#<hour>#<arrival day>                    an hour's partial
//	D#<day>#<arrival day>                     a day's: its hours' added up
//	H#…#<part>, D#…#<part>                    more of its fields, where they are many
//	X#<hour>#<arrival day>#<until>#<hours>    a mark, also in the first index
package rollup
