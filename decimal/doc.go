// Package decimal implements exact decimal numbers and their sums.
//
//   - [Number] has at most 38 significant digits, the limit of DynamoDB, and the scale with which
//     it was written.
//   - [Sum] has any number of digits. It adds numbers without rounding, and [Sum.Mean] rounds
//     once, half to even.
//
// Operations do not use binary floating point, except functions with Float in their name. [Parse]
// fails with [ErrSyntax], [ErrPrecision] or [ErrRange] if a text is not a number in range.
package decimal
