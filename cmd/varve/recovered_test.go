package main

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/local/journal"
)

// TestRecovered_WarnsOfTornEnd checks that a warning reports that the end of the journal was cut
// off, and its length.
func TestRecovered_WarnsOfTornEnd(t *testing.T) {
	tests := []struct {
		name  string
		found local.Recovery
		want  string
	}{
		{"nothing", local.Recovery{Readings: 5}, ""},
		{"a whole frame", local.Recovery{Torn: []journal.Torn{{File: "0000000001.journal", Bytes: 12428, Frames: 1}}},
			"the last 12428 bytes of 0000000001.journal do not check, 1 whole frame among them: what they held may have been acknowledged"},
		{"a chain file", local.Recovery{Notes: []journal.Problem{{File: "CHAIN.0", Text: "is damaged"}}}, "CHAIN.0 is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			recovered(zerolog.New(&out).Level(zerolog.WarnLevel), tt.found)
			if got := out.String(); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("log: %q, want %q", got, tt.want)
			}
		})
	}
}
