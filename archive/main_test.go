package archive_test

import (
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/tests/varvetest"
)

var withinFlag = flag.Duration("within", 0, "time after which a test checks no further random sequence; 0 means no limit")

func TestMain(m *testing.M) {
	if err := varvetest.InMemory(func() int { return randomtest.RunTests(m, 30, 5) }); err != nil {
		panic(err)
	}
}

// checkWithin checks a property with random sequences, until the time of the flag -within has passed. After
// a failure, rapid shrinks the sequence without this limit.
func checkWithin(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	begin, checked, failed := time.Now(), 0, false
	rapid.Check(t, func(t *rapid.T) {
		if *withinFlag > 0 && time.Since(begin) > *withinFlag && !failed {
			return
		}
		checked++
		passed := false
		defer func() { failed = failed || !passed }()
		property(t)
		passed = !t.Failed()
	})
	t.Logf("%d sequences were checked", checked)
}
