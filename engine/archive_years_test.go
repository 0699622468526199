package engine_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestQuery_WithArchivesReturnsEveryReadingOnceOverYears writes readings for two years, each up to three years
// old. The last of the readings are live, and the others are in archives. Many of them arrived late. A query
// over all readings must return each one once.
func TestQuery_WithArchivesReturnsEveryReadingOnceOverYears(t *testing.T) {
	randomtest.LimitChecks(t, 3)
	dropped, live := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := openArchivePast(t, func(_ string, now func() time.Time) (store.Store, error) { return mem.New(now), nil })
		defer p.close()
		p.oldest = 365 // three years
		for range 5 {
			p.write(t)
			p.pass(t, 150*day)
			p.compare(t)
		}
		n := len(p.copies)
		p.write(t)
		live += len(p.copies) - n
		p.compare(t)
		dropped += p.dropped
	})
	if dropped == 0 || live == 0 {
		t.Errorf("%d dropped tables and %d live readings, want some of both", dropped, live)
	}
}
