package wire

import "github.com/varvedb/varve"

// Tally counts verdicts by outcome.
type Tally struct {
	Stored     int64 `json:"stored"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
	Queued     int64 `json:"queued,omitempty" doc:"readings on the disk of an agent, which will send them; only agents return it"`
}

// Count adds one verdict to the tally.
func (t *Tally) Count(v varve.Verdict) {
	switch v.Outcome {
	case varve.Stored:
		t.Stored++
	case varve.Duplicate:
		t.Duplicates++
	case varve.Queued:
		t.Queued++
	default:
		t.Rejected++
	}
}

// Add adds the counts of another tally.
func (t *Tally) Add(u Tally) {
	t.Stored += u.Stored
	t.Duplicates += u.Duplicates
	t.Rejected += u.Rejected
	t.Queued += u.Queued
}

// Total returns the number of verdicts in the tally.
func (t *Tally) Total() int64 { return t.Stored + t.Duplicates + t.Rejected + t.Queued }
