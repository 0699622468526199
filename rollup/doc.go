// Package rollup maintains exact hourly and daily aggregates of numeric fields.
//
//	write   Tracker     puts a dirty marker for each hour, before its readings
//	later   Aggregator  recounts dirty hours, stores partials, then deletes the markers
//	read    Reader      adds up stored partials, and recounts hours that are still dirty
//
// The main types:
//
//   - [Tracker], [Aggregator] and [Reader] are the three parts. The margins between writers and the
//     aggregator are in margins.go.
//   - [Partial] covers the readings of one series and one hour that first arrived on one day.
//   - [Rollup] is the sum of the partials of one [Period].
//
// These rules always hold:
//
//   - A roll-up equals a recount of the distinct readings that were stored while roll-ups were on,
//     without readings that were erased or rewound. This is true after retries, crashes, late uploads
//     and concurrent writes, and also after older readings of the same hour have expired. The only
//     exceptions are readings that may be copies of deleted readings, see [Resent], and corrections of
//     hours whose readings were deleted.
//   - A partial is recomputed from its readings and not incremented, so recomputing it twice is
//     harmless. The exception is a partial with corrections whose older readings were deleted. Readings
//     that arrive on a later day belong to another partial. So a partial can outlive the readings from
//     which it was computed.
//   - A reading counts only in the partial of its first copy. While that copy is in a table, the
//     table identifies later copies. After the table is dropped, the fingerprints or digests in the
//     partial identify them.
//
// If a writer fails, its markers remain, and the hours are recounted without need. If the
// aggregator fails, the markers also remain, and the next run recounts the same hours. All roll-up
// items of a series are in one partition of the registry: see docs/data-model.md. Tracker and
// Reader are safe for concurrent use, and a lease admits one Aggregator.
package rollup
