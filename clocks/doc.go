// Package clocks learns how far the clocks of devices are ahead, and corrects their readings.
//
//	reading in the future ──▶ Corrector ──┬─▶ current, and its offset is known: corrected
//	                              │       ├─▶ corrected before: duplicate or conflict
//	                              ▼       └─▶ else: refused; the newest of a batch is a sample
//	                          Registry: offsets per series, durable, never changed
//
// The main types:
//
//   - [Offset] is the learned error of a clock, from a sent time on.
//   - [Registry] learns and stores offsets. It needs consistent samples over at least two minutes.
//   - [Corrector] corrects readings, and finds readings that were corrected before.
//   - [Source] returns the stored readings for this search.
//
// These rules always hold:
//
//   - A reading is corrected only if its corrected time is within [Tolerance] of its arrival. So a wrong
//     offset causes an error of at most Tolerance. The exception is another version of a corrected reading:
//     it gets the same corrected time, whenever it arrives.
//   - The corrected time depends on the sent time and an offset only, and offsets never change. So
//     a resent reading has the same time and id, and is a duplicate.
//   - A corrected reading is not stored a second time under its sent time. This holds even if it is
//     resent when that time is no longer in the future.
//   - The sent time is stored in the field [FieldSent].
//
// If the registry or the source fails, the methods return its error, and a retry is safe. Samples
// are only in memory: after a restart, learning begins with the first sample. Registry and
// Corrector are safe for concurrent use.
package clocks
