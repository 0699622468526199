package dynamo_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lowers the number of random sequences. Each one takes hundreds of requests.
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
	os.Exit(m.Run()) //nolint:forbidigo // what a TestMain must do
}
