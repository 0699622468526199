package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// missing reads all readings of the sensor. It returns the number of readings and the missing
// tables of the coverage.
func (p *process) missing(strong bool) (n int, tables []string) {
	p.t.Helper()
	rows, err := p.query.Open(p.t.Context(), query.Query{Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime(), Consistent: strong})
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for {
		some, err := rows.Next(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		if len(some) == 0 {
			return n, rows.Coverage().Missing
		}
		n += len(some)
	}
}

// TestCoverage_ReportsDeletedTableUntilLossIsAccepted deletes a table outside of Varve. Every
// coverage and every Examine must report the table, even after it is recreated, until its loss is
// accepted.
func TestCoverage_ReportsDeletedTableUntilLossIsAccepted(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Start(t)
			p := launch(t, url, "t_reg", nil)
			old := someTime.AddDate(0, -1, 0)
			p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
			p.expect("write", p.write(sensor(old, "v", varve.IntValue(2))), varve.Stored)
			gone := p.table()
			expect := func(when string, readings int, lost bool) {
				t.Helper()
				want := []string(nil)
				if lost {
					want = []string{gone.Name()}
				}
				for _, strong := range []bool{false, true} {
					again := launch(t, url, "t_reg", nil) // a new process has no caches
					if n, got := again.missing(strong); n != readings || !slices.Equal(got, want) {
						t.Errorf("%s, consistent %v: %d readings, missing %v; want %d and %v", when, strong, n, got, readings, want)
					}
					a, err := again.query.Latest(t.Context(), query.LatestQuery{Series: sensor(someTime, "v", varve.IntValue(1)).Series, Consistent: strong})
					if err != nil || !slices.Equal(a.Coverage.Missing, want) {
						t.Errorf("%s, latest: missing %v, %v", when, a.Coverage.Missing, err)
					}
				}
				found := lossOf(t, url, nil)
				if (found.State == dynamo.Wrong) != lost || lost && !strings.Contains(found.Found, gone.Name()) {
					t.Errorf("%s: finding %+v, want lost %v", when, found, lost)
				}
				if found := lossOf(t, url, func(grid.Table) bool { return true }); found.State != dynamo.Good {
					t.Errorf("%s, after expiry: %+v, want good", when, found)
				}
			}
			expect("before", 2, false)
			deleteByHand(t, url, gone.Name())
			expect("deleted", 1, true)
			p.expect("write", p.write(sensor(someTime.Add(time.Minute), "v", varve.IntValue(3))), varve.Stored)
			expect("recreated", 2, true)
			if err := p.store.AcceptLoss(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			expect("accepted", 2, false)
			deleteByHand(t, url, gone.Name())
			expect("deleted again", 1, true)
			if err := p.store.AcceptLoss(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			expect("accepted again", 1, false)
		})
	}
}

// lossOf returns the finding of Examine about deleted tables.
func lossOf(t *testing.T, url string, expired func(grid.Table) bool) dynamo.Finding {
	t.Helper()
	findings := dynamo.Examine(t.Context(), dynamo.Examination{
		Options: dynamo.Options{Client: dynamotest.Client(url), Registry: "t_reg"}, Prefixes: []string{"t"}, Expired: expired,
	})
	for _, f := range findings {
		if f.Check == "deleted tables" {
			return f
		}
	}
	t.Fatalf("no finding about deleted tables in %+v", findings)
	return dynamo.Finding{}
}
