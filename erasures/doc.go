// Package erasures deletes the data of a device on purpose, because a law or a contract asks for
// it.
//
//	Plan    counts the data, and returns a digest
//	Begin   compares the digest, and writes the record of the erasure
//	Worker  erases, waits, erases once more, and ends when nothing is left
//
//	erasing ──▶ settling ──▶ done
//	   ▲           │
//	   └── held ◀──┘   while a table is on hold
//
// [Eraser] plans and performs erasures, and its method Run is the worker. [Target] selects readings
// by device, stream and event time. A [Record] is one item of the registry. It stays as the proof
// of the erasure, without any reading.
//
// These rules always hold:
//
//   - Readings that arrived after the plan stay, because no operator has seen their number.
//   - Windows have whole hours, because a roll-up covers a whole hour. Otherwise a roll-up could
//     have both erased readings and readings that are no longer stored.
//   - A hold always wins: the readings of a table on hold stay, and the erasure continues after the
//     hold is released.
//   - One process works on erasures at a time, under a lease.
//
// A pass erases tables, then archives, roll-ups and other records, and then reads all tables. A
// write may be under way meanwhile, and a process may remember an erased reading as stored. So
// after its last deletion, an erasure waits until no such process is left (settling), and then
// reads everything once more. It is done only if nothing is found.
//
// [Eraser.Begin] fails with varve.Conflict if the data has changed since the plan. If a step fails,
// the record has the reason, and the step is repeated later. Any process continues the work of
// another one that died. An Eraser is safe for concurrent use.
package erasures
