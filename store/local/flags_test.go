package local_test

import (
	"flag"
	"testing"
	"time"

	"github.com/varvedb/varve/internal/randomtest"
)

var (
	cutsFlag    = flag.Int("cuts", 0, "number of power cuts; 0 means the usual number")
	damagesFlag = flag.Int("damages", 0, "number of damages; 0 means the usual number")
	withinFlag  = flag.Duration("within", 0, "time after which no further case begins; 0 means no limit")
)

// seedsFor returns the number of seeds for n cases, if each seed has the given number of cases. If
// n is 0, it returns "short" in short tests, and otherwise "usual", or a part of it with the race detector.
func seedsFor(n, each int, usual, short uint64) uint64 {
	switch {
	case n > 0:
		return uint64((n + each - 1) / each)
	case testing.Short():
		return short
	default:
		return uint64(randomtest.Part(int(usual)))
	}
}

// soakEnds returns a function that reports whether the time of the flag -within has passed. Without the
// flag, it always returns false.
func soakEnds() func() bool {
	begin := time.Now()
	return func() bool { return *withinFlag > 0 && time.Since(begin) > *withinFlag }
}
