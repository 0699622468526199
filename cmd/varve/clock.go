package main

import (
	"os"
	"strings"
	"time"
)

// testClock names a file with the offset of the clock. The linker sets it in
// programs that are built for tests, and only there.
var testClock string

// now returns the time of the program's clock.
func now() time.Time {
	if testClock == "" {
		return time.Now()
	}
	// Errors are ignored: if a test is just writing the file, the offset is 0.
	text, _ := os.ReadFile(testClock)
	ahead, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return time.Now().Add(ahead)
}
