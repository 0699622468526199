package main

import (
	"os"
	"strings"
	"time"
)

// testClock is set by the linker in programs that are built for tests, and only
// there: it names a file that says by how much the clock is ahead.
var testClock string

// now is the program's clock.
func now() time.Time {
	if testClock == "" {
		return time.Now()
	}
	// A test that writes the file while it is read gets the time as it is.
	text, _ := os.ReadFile(testClock)
	ahead, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return time.Now().Add(ahead)
}
