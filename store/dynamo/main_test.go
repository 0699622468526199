package dynamo_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain reduces the number of random sequences, because each takes hundreds of requests.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := "30"
	if testing.Short() {
		checks = "5"
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run()) //nolint:forbidigo // the exit code of the tests
}
