// Package erasures deletes the data of a device on purpose, because a law or a contract asks for it.
//
//	Plan    counts the data, and returns a digest
//	Begin   compares the digest, and writes the record of the erasure
//	Worker  erases, waits, erases once more, and ends when nothing is left
//
// An erasure covers readings by device, stream, event time and arrival. Readings that arrived after
// the plan stay, because no operator has seen their number. Windows have whole hours, because a
// roll-up covers a whole hour. Otherwise a roll-up could have both erased readings and readings
// that are no longer stored.
//
// A [Record] is one item of the registry. It stays as the proof of the erasure, without any reading.
//
//	erasing ──▶ settling ──▶ done
//	   ▲           │
//	   └── held ◀──┘   while a table is on hold
//
// A pass erases tables, then archives, roll-ups and other records, and then reads all tables. Each
// step can be repeated. One process works on erasures at a time, under a lease, and any process
// continues the work of another one that died. A hold always wins: the readings of a table on hold
// stay, and the erasure continues after the hold is released.
//
// A write may be under way while its readings are erased, and a process may remember an erased
// reading as stored. So after its last deletion, an erasure waits until no such process is left
// (settling), and then reads everything once more. It is done only if nothing is found.
package erasures
