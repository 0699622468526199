// Package randomtest sets the number of random sequences that the property tests of a package run.
//
// It is for packages whose sequences take long. [RunTests] sets the number for all tests of a
// package, and [LimitChecks] until the end of one test. Under -short, fewer sequences run. The flag
// -rapid.checks overrides the number. The number is global, so tests that run in parallel share it.
//
// With the race detector, a sequence takes about ten times as long, and further sequences rarely run
// other code at the same time. So [RunTests] and [LimitChecks] then set only a fifth of the number (see
// [Part]). The command make test runs these tests a second time without the race detector, and then all
// sequences.
package randomtest

import (
	"flag"
	"strconv"
	"sync"
	"testing"
)

const checksFlag = "rapid.checks"

// isGiven reports whether the command line has the flag -rapid.checks.
var isGiven = sync.OnceValue(func() (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == checksFlag })
	return given
})

// raceDivisor divides the number of sequences if the test has the race detector.
const raceDivisor = 5

// Part returns how many of n sequences a test runs. These are all, or with the race detector a fifth, but
// at least one.
func Part(n int) int {
	if WithRaceDetector {
		return max(1, n/raceDivisor)
	}
	return n
}

// RunTests runs the tests of a package, and returns the exit code. Each property test checks as
// many random sequences as the argument "checks", or under -short a fifth of the argument "short". With the
// race detector, it checks a fifth of these numbers.
func RunTests(m *testing.M, checks, short int) int {
	flag.Parse()
	if testing.Short() {
		checks = short
	}
	if err := setChecks(strconv.Itoa(Part(checks))); err != nil {
		panic(err)
	}
	return m.Run()
}

// shortPart is the divisor that rapid applies to the number of sequences under -short.
const shortPart = 5

// LimitChecks sets the number of random sequences until the test ends. Under -short, a fifth of them
// runs, but at least one.
func LimitChecks(t *testing.T, checks int) {
	t.Helper()
	checks = Part(checks)
	if testing.Short() {
		checks = max(checks, shortPart)
	}
	usual := flag.Lookup(checksFlag).Value.String()
	if err := setChecks(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := setChecks(usual); err != nil {
			t.Error(err)
		}
	})
}

func setChecks(n string) error {
	if isGiven() {
		return nil
	}
	return flag.Set(checksFlag, n)
}
