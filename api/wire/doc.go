// Package wire defines the bodies of the HTTP API, and reads and writes readings.
//
//	body ──▶ Reader ──▶ Batch (readings, verdicts)      JSON, NDJSON, CSV, line protocol
//	file ──▶ Splitter ──▶ Piece ──▶ body of a write
//
// The main types:
//
//   - [Format] names a format. The entry of a format has its reader, media types and extensions.
//   - [Reader] parses a body batch by batch, in the memory of one [Batch].
//   - [Splitter] cuts a file into pieces that can be sent as bodies.
//   - [Columns] describes the columns of a CSV body.
//   - [Problem] is the body of the answer to a failed request.
//
// These rules always hold:
//
//   - An invalid reading gets a verdict, and does not affect other readings.
//   - A reading has the same values and the same id in each format.
//   - A batch has at most [BatchReadings] readings, unless its last row has many devices as columns. A
//     [Budget] limits the memory of several batches, and never makes them wait.
//
// Only a body that cannot be parsed to its end is an error, usually a [BodyError]. The batch then
// has the readings before the error. Only a Budget is safe for concurrent use.
package wire
