//go:build race

package randomtest

// WithRaceDetector reports whether the test has the race detector.
const WithRaceDetector = true
