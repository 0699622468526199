package varve

import "github.com/varvedb/varve/decimal"

// Number is an exact decimal number of at most 38 significant digits.
type Number = decimal.Number
