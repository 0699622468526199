// Package decimal implements exact decimal numbers and their sums.
//
//   - [Number] has at most 38 significant digits, the limit of DynamoDB, and keeps the scale
//     of its notation.
//   - [Sum] has any number of digits. It adds numbers without rounding, and [Sum.Mean] rounds
//     once, half to even.
//
// No operation uses binary floating point, except functions with Float in their name. Text that
// is not a number in range fails with [ErrSyntax], [ErrPrecision] or [ErrRange].
package decimal
