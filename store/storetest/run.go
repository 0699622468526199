package storetest

import (
	"github.com/varvedb/varve/store"
	"slices"
	"testing"
	"time"
)

// Open returns a new, empty store that uses the given clock. It registers the cleanup of the
// store with t.
type Open func(t *testing.T, now func() time.Time) store.Store

// Trait is a permitted difference between stores.
type Trait int

// CountsLag means that the counts of readings and bytes may be hours old, and may be counts of
// rows.
const CountsLag Trait = iota + 1

// Run runs all test cases. Each case gets a new store.
func Run(t *testing.T, open Open, traits ...Trait) {
	cases := []struct {
		name string
		run  func(*testing.T, *env)
	}{
		{"write/verdicts", testVerdicts},
		{"write/same timestamp", testSameTimestamp},
		{"write/conflicts", testConflicts},
		{"write/conflicts in every layout", testConflictsInLayouts},
		{"write/conflicts of every kind of value", testConflictsOfValues},
		{"write/concurrent conflicts", testConcurrentConflicts},
		{"write/content ids", testContentIDs},
		{"versions/identity", testVersions},
		{"versions/latest", testLatestOfVersions},
		{"versions/layouts", testVersionsInLayouts},
		{"write/many tables", testManyTables},
		{"write/no table", testNoTable},
		{"write/buffers of the caller", testCallersBuffers},
		{"write/concurrent retries", testConcurrentRetries},
		{"write/many at one instant", testManyAtOneInstant},
		{"read/values exact", testValues},
		{"read/windows", testWindows},
		{"read/pages", testPages},
		{"read/series apart", testSeriesApart},
		{"read/no table", testReadNoTable},
		{"read/estimate", testEstimate},
		{"latest/by event", testLatestByEvent},
		{"latest/by arrival", testLatestByArrival},
		{"latest/expired", testLatestExpired},
		{"series/all", testSeries},
		{"series/layouts", testSeriesInLayouts},
		{"erase/one series", testErase},
		{"erase/layouts", testEraseInLayouts},
		{"erase/refused", testEraseRefused},
		{"tables/list", testTablesList},
		{"tables/skip empty", testTablesSkipEmpty},
		{"tables/create", testTablesCreate},
		{"tables/states", testTablesStates},
		{"tables/drop", testTablesDrop},
		{"tables/hold", testTablesHold},
		{"items/put and get", testItemsPutGet},
		{"items/conditions", testItemsConditions},
		{"items/queries", testItemsQueries},
		{"items/indexes", testItemsIndexes},
		{"items/expiry", testItemsExpiry},
		{"items/versions", testItemsVersions},
		{"reading versions", testReadingVersions},
		{"items/many", testItemsMany},
		{"items/absent", testItemsAbsent},
		{"items/absent, at once", testItemsAbsentAtOnce},
		{"items/one winner", testItemsOneWinner},
		{"closed", testClosed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, newEnv(t, open, traits))
		})
	}
}

func newEnv(t *testing.T, open Open, traits []Trait) *env {
	e := &env{clock: start, countsLag: slices.Contains(traits, CountsLag)}
	e.Store = open(t, func() time.Time { return e.clock })
	return e
}
