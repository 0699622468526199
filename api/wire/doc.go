// Package wire defines the bodies of the API: the formats of readings, and the JSON of every
// resource.
//
//	body ──▶ Reader ──▶ Batch: readings with verdicts ──▶ router
//	file ──▶ Splitter ──▶ Piece ──▶ body                  (upload)
//	readings ──▶ Writer, Table ──▶ answer ──▶ AnswerReader (client)
//
// A [Reader] of a [Format] fills a [Batch] with [Memory] that serves many bodies. A [Splitter]
// cuts a file into pieces that can be sent one by one. A [Problem] is the body of every failure.
//
// These rules always hold:
//
//   - A body of any length needs the memory of one batch.
//   - A reading has the same id and values in each format, and in any pieces of a file.
//   - Numbers never pass through binary floating point.
//
// An invalid reading gets a rejecting verdict and does not affect its neighbors. Only a body
// that cannot be parsed any further is an error, a [BodyError].
package wire
