// Package arrowstream writes readings as an Apache Arrow IPC stream.
//
//	readings ──▶ TypeSet ──▶ schema ┐
//	readings ─────────────▶ Writer ─┴▶ record batch, record batch, …, end of stream
//
// A stream begins with its schema, so the readings are read twice:
//
//   - [TypeSet] collects the fields of an answer, and the type that each one needs.
//   - [Writer] writes the same readings in batches of about 1 MiB.
//   - [Numbers] selects exact or rounded numbers.
//
// Values are exact: a number is a decimal of 38 digits, or text if some values of its field do not
// fit this type. Only [Floats] rounds numbers.
//
// If a value does not fit the collected type, the Writer fails with [ErrChanged]: the readings
// changed between the two passes. The client may resend the request. A sender withholds the last
// [EndBytes] until [Writer.Close], so that every reader notices an incomplete stream. Only one
// goroutine may use a TypeSet or a Writer.
package arrowstream
