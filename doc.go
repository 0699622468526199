// Package varve is the vocabulary of Varve: what a reading is, what makes two
// readings the same, what becomes of one that is submitted, and which window
// of time a question is about.
//
// It holds nouns and their rules and nothing else: no I/O, no clock, no
// configuration. Everything else in the module is written in these words.
//
//   - [Reading]: one event of one device, with its [Field] values.
//   - [Series]: tenant + stream + device, the unit of order.
//   - [ID] and [Position]: identity = series + time + id, and the order in
//     which a series is read.
//   - [Number], [Value]: exact values; nothing passes through a float.
//   - [Verdict]: stored, duplicate or rejected, with a [Code].
//   - [Window]: a half-open stretch of event time.
//   - [Error]: the few kinds of failure that callers tell apart.
package varve
