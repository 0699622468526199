// Package decimal implements exact decimal numbers and their sums.
//
//	text ──Parse──▶ Number ──Add──▶ Sum ──Mean, Deviation──▶ Sum, rounded once
//
// The main types and functions:
//
//   - [Number] has at most 38 significant digits, the limit of DynamoDB, and the scale with which
//     it was written.
//   - [Sum] has any number of digits. It adds numbers without rounding, and [Sum.Mean] rounds once,
//     half to even.
//   - [Parse] parses JSON syntax, and [Number.Append] writes it.
//
// These rules always hold:
//
//   - Operations do not use binary floating point, except functions with Float in their name.
//   - A number is written with the decimals of its scale: 42.0 stays 42.0.
//   - Equal numbers have equal canonical forms, whatever their scales.
//
// If a text or a result is not a number in range, the error is [ErrSyntax], [ErrPrecision] or
// [ErrRange]. [FromScaled] panics for an exponent out of range. [Sum.Mean] and [Sum.Interpolate] panic if
// they must divide by 0. Numbers are immutable. A Sum must not be copied after an addition, and needs a
// lock if goroutines share it.
package decimal
