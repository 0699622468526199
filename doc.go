// Package varve defines the vocabulary of Varve: readings, their identity, verdicts and windows
// of time.
//
// It contains types and their rules. It does no I/O, reads no clock and has no configuration.
// Every other package builds on it.
//
//   - [Reading]: one event of one device, with its [Field] values.
//   - [Series]: tenant, stream and device; the unit of order.
//   - [ID] and [Position]: the id completes the identity of a reading; the position orders a
//     series.
//   - [Number] and [Value]: exact values; numbers are decimal, not binary floating point.
//   - [Verdict]: stored, duplicate or rejected, with a [Code].
//   - [Window]: a half-open range of event time.
//   - [Error]: a failure with the kind that decides how a caller reacts.
//
// The identity of a reading is its series, event time and id. A reading that is sent without an
// id gets a hash of its fields as its id, so a retry has the same identity.
//
// A function fails only if its input breaks a rule. It then returns an error, or a verdict with a
// [Code].
package varve
