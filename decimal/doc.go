// Package decimal implements exact decimal numbers and their sums.
//
// [Number] has at most 38 significant digits, as many as DynamoDB stores, and
// remembers the scale in which it was written. [Sum] has any length: it adds
// numbers without rounding, and [Sum.Mean] rounds once, half to even.
//
// No operation uses binary floating point, except those whose names say Float.
package decimal
