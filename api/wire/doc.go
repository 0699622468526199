// Package wire has the bodies of the HTTP API, and reads and writes readings.
//
//	body ──▶ Reader ──▶ Batch (readings, verdicts)      JSON, NDJSON, CSV, line protocol
//	file ──▶ Splitter ──▶ Piece ──▶ body of a write
//
// The main types:
//
//   - Format names a format. Its entry in the table has its reader, media types and extensions.
//   - Reader parses a body batch by batch, in the memory of one batch.
//   - Splitter cuts a file into pieces that can be sent as bodies.
//   - Columns describes the columns of a CSV body.
//   - Problem is the body of each failure.
//
// An invalid reading becomes a verdict and leaves the others alone. Only a body that
// cannot be parsed to its end is an error. A reading has the same values and the
// same id in each format.
package wire
