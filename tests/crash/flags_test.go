package crash

import (
	"flag"
	"testing"
	"time"
)

var (
	killsFlag  = flag.Int("kills", 0, "number of kills of each test; 0 means the usual number")
	withinFlag = flag.Duration("within", 0, "time after which no further kill begins; 0 means no limit")
)

// killsOr returns the number of kills in a test: the value of the flag -kills if it is set.
// Otherwise it is the argument "short" in a short run, and the argument "usual" in other runs.
func killsOr(usual, short int) int {
	switch {
	case *killsFlag > 0:
		return *killsFlag
	case testing.Short():
		return short
	default:
		return usual
	}
}

// soakEnd returns the time after which no further kill begins. The flag -within sets it. Without
// the flag, it is a year ahead.
func soakEnd() time.Time {
	if *withinFlag > 0 {
		return time.Now().Add(*withinFlag)
	}
	return time.Now().AddDate(1, 0, 0)
}
