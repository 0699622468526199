package dynamo_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

// coldScaledTemplate has capacity limits for hot and cold tables, so only these are scaled.
const coldScaledTemplate = `{
	"billing": "provisioned",
	"capacity": {"hot": {"read": 5, "write": 5}, "warm": {"read": 3, "write": 3}, "cold": {"read": 2, "write": 1}},
	"capacity_max": {"hot": {"read": 100, "write": 1000}, "cold": {"read": 50, "write": 20}}
}`

// coldLife runs a store on the stand-in for DynamoDB in package dynamosim. Both use the clock of the test.
type coldLife struct {
	t     *testing.T
	url   string
	clock *movedClock
	s     *dynamo.Store
	table grid.Table
	rows  int
	// changes has one text for each change of capacity, which begins with the time of the change.
	changes []string
}

func newColdLife(t *testing.T) *coldLife {
	clock := newClock()
	clock.at.Store(someTime.UnixNano())
	http := httptest.NewServer(dynamosim.New(dynamosim.Options{Now: clock.now}))
	t.Cleanup(http.Close)
	l := &coldLife{t: t, url: http.URL, clock: clock}
	l.open()
	putTemplate(t, l.s, coldScaledTemplate)
	l.table = newTable(t, l.s)
	return l
}

func (l *coldLife) open() {
	l.s = openWith(l.t, dynamo.Options{Client: dynamotest.Client(l.url), Registry: "t_registry", Now: l.clock.now})
	reported(l.t, l.s)
}

func (l *coldLife) scale() {
	l.t.Helper()
	reported(l.t, l.s)
	if got := scaled(l.t, l.s); got != "" {
		l.changes = append(l.changes, l.clock.now().UTC().Format("Jan 2 15:04")+": "+got)
	}
}

// runUntil advances the clock hour by hour to a given time, and scales the tables after each hour.
func (l *coldLife) runUntil(at time.Time) {
	l.t.Helper()
	for l.clock.now().Add(time.Hour).Before(at) {
		l.clock.advance(time.Hour)
		l.scale()
	}
	l.clock.at.Store(at.UnixNano())
	l.scale()
}

// use reads and writes the table for ten seconds, at the given numbers of units per second. Then it
// scales the table.
func (l *coldLife) use(reads, writes int) {
	l.t.Helper()
	l.clock.advance(10 * time.Second)
	reported(l.t, l.s)
	useRows(l.t, l.s, l.table, l.rows, 10*writes)
	l.rows += 10 * writes
	first := store.Range{Table: l.table, Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime(), Consistent: true, Limit: 1}
	for range 10 * reads {
		if _, err := l.s.Read(l.t.Context(), first, nil); err != nil {
			l.t.Fatal(err)
		}
	}
	l.clock.advance(10 * time.Second)
	l.scale()
}

// TestScale_ColdTableFollowsLastMonth seals a table two weeks after its busiest hour. The read capacity
// must serve the reads of that hour for a month, even after a restart. Writes from before the table was
// sealed must not count. A later peak must raise the capacity for a month, too.
func TestScale_ColdTableFollowsLastMonth(t *testing.T) {
	t.Parallel()
	l := newColdLife(t)
	l.use(7, 70)
	l.runUntil(time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC))
	if err := l.s.Tune(t.Context(), l.table, store.Cold); err != nil {
		t.Fatal(err)
	}
	if got := shape(describe(t, l.url, l.table.Name())); got != "provisioned 10/1, protected" {
		t.Errorf("sealed: %s, want the reads of two weeks ago", got)
	}
	l.changes = nil
	l.runUntil(time.Date(2026, 12, 5, 3, 0, 0, 0, time.UTC))
	l.use(14, 0)
	l.runUntil(time.Date(2026, 12, 10, 3, 0, 0, 0, time.UTC))
	l.use(0, 70) // erasures also write to cold tables
	l.runUntil(time.Date(2026, 12, 12, 3, 0, 0, 0, time.UTC))
	l.open()
	l.runUntil(time.Date(2027, 1, 15, 3, 0, 0, 0, time.UTC))
	want := []string{
		"Dec 5 03:00: read 10 to 20, write 1 to 1",
		"Dec 10 03:00: read 20 to 20, write 1 to 20", // not more than capacity_max
		"Jan 5 00:00: read 20 to 2, write 20 to 20",
		"Jan 10 00:00: read 2 to 2, write 20 to 1",
	}
	if !slices.Equal(l.changes, want) {
		t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(l.changes, "\n"), strings.Join(want, "\n"))
	}
}

// TestTune_KeepsCapacityOfUnknownUse seals a table after reports that cover less than a minute. Its
// capacity must stay as it is, unless a limit of cold tables requires a change.
func TestTune_KeepsCapacityOfUnknownUse(t *testing.T) {
	t.Parallel()
	l := newColdLife(t)
	l.use(0, 70)
	if err := l.s.Tune(t.Context(), l.table, store.Cold); err != nil {
		t.Fatal(err)
	}
	if got := shape(describe(t, l.url, l.table.Name())); got != "provisioned 5/20, protected" {
		t.Errorf("sealed: %s, want its capacity within the limits", got)
	}
}

// TestTune_RespectsDailyDecreases makes a table cold and hot in turn, until its capacity has been lowered
// four times on one day. DynamoDB refuses a fifth decrease within an hour. So Tune must fail with an error that
// can be retried, and must succeed an hour later.
func TestTune_RespectsDailyDecreases(t *testing.T) {
	t.Parallel()
	l := newColdLife(t)
	l.use(7, 7)
	l.runUntil(someTime.Add(8 * time.Hour))
	var err error
	for i := 0; i < 10 && err == nil; i++ {
		err = l.s.Tune(t.Context(), l.table, []store.Tier{store.Cold, store.Hot}[i%2])
	}
	if varve.FailureOf(err) != varve.Unavailable {
		t.Fatalf("lowered five times: %v, want a refusal that can be retried", err)
	}
	l.clock.advance(time.Hour)
	if err := l.s.Tune(t.Context(), l.table, store.Cold); err != nil {
		t.Fatal(err)
	}
	if got := shape(describe(t, l.url, l.table.Name())); got != "provisioned 10/1, protected" {
		t.Errorf("an hour later: %s", got)
	}
}
