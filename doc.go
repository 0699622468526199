// Package varve defines the vocabulary of Varve: readings, their identity, verdicts and windows of
// time.
//
// It contains types and their rules. It does no I/O, reads no clock and has no configuration. Every
// other package builds on it.
//
//   - [Reading] is one event of one device, with its [Field] values.
//   - [Series] is a tenant, a stream and a device: the unit of order.
//   - [ID] completes the identity of a reading, and [Position] orders the readings of a series.
//   - [Number] and [Value] are exact: numbers are decimal, not binary floating point.
//   - [Verdict] is the result for a reading: stored, duplicate or rejected, with a [Code].
//   - [Window] is a half-open range of event time.
//   - [Error] is a failure with the kind that decides how a caller reacts.
//
// The identity of a reading is its series, event time and id. A reading that is sent without an id
// gets a hash of its fields as its id, so a retry has the same identity.
//
// A function fails only if its input breaks a rule. It then returns an error, or a verdict with a
// [Code]. The package has no state, so all functions are safe for concurrent use.
package varve
