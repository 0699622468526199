// Package varve defines the vocabulary of Varve: readings, their identity, verdicts and windows
// of time.
//
// It contains types and their rules. It has no I/O, no clock and no configuration, and every
// other package builds on it.
//
//   - [Reading]: one event of one device, with its [Field] values.
//   - [Series]: tenant, stream and device; the unit of order.
//   - [ID] and [Position]: the id completes the identity of a reading; the position orders a
//     series.
//   - [Number] and [Value]: exact values, never converted to binary floating point.
//   - [Verdict]: stored, duplicate or rejected, with a [Code].
//   - [Window]: a half-open range of event time.
//   - [Error]: a failure with the kind that decides how a caller reacts.
//
// Identity is series, event time and id. A reading that is sent without an id gets the hash of
// its fields, so a retry is always a duplicate.
//
// Functions return errors of kind [Invalid], or verdicts with a [Code], for input that breaks a
// rule. Nothing else fails.
package varve
