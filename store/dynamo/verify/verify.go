// Package verify checks the invariants of all rows of tables.
//
// [Verify] reads all rows at a limited rate, and reports each damaged row. [Options] select the
// tables, and [Result] has the counts. Verify changes nothing, and needs the permission dynamodb:Scan.
// Package row defines the invariants.
//
// A verification continues after a damaged row. It ends at a failed request, and returns the counts
// so far. A table that was dropped meanwhile is not an error, and [Result.Tables] does not count it.
package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/reader"
	"github.com/varvedb/varve/store/dynamo/row"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// Options select the tables, and limit the rate of reads.
type Options struct {
	// Prefixes are the prefixes of the tables to read. If nil, all tables of this deployment are
	// read.
	Prefixes []string
	// Rate is the largest number of read units per second. 0 means no limit.
	Rate float64
	// Found is called for each damaged row.
	Found func(store.DamagedRow)
	// Progress, if set, is called with the counts after each request.
	Progress func(Result)
	// Reading, if set, is called for each intact row with readings. The arguments are the series and
	// the event time of one of these readings.
	Reading func(varve.Series, time.Time)
	// Table, if set, is called for each table before the table is read.
	Table func(grid.Table)
	// Wait, if set, is called instead of waiting in real time.
	Wait func(context.Context, time.Duration) error
}

// Result has the numbers of tables, rows and readings that were read.
type Result struct {
	Tables   int
	Rows     int64
	Readings int64
	Damaged  int64 // number of damaged rows
	Units    float64
}

// Verify reads the selected tables and checks all their rows.
func Verify(ctx context.Context, catalog *tables.Catalog, rd *reader.Reader, o Options) (done Result, err error) {
	list := catalog.WithPrefixes
	if o.Prefixes == nil {
		list = func(ctx context.Context, _ []string) ([]tables.Listed, error) { return catalog.All(ctx) }
	}
	listed, err := list(ctx, o.Prefixes)
	if err != nil {
		return done, err
	}
	for i := range listed {
		in := &listed[i]
		if !in.Owned || in.Status == store.Gone {
			continue
		}
		if o.Table != nil {
			o.Table(in.Table)
		}
		err := verifyTable(ctx, rd, in.Table, &o, &done)
		if client.IsNoTable(err) {
			continue // the table was dropped after it was listed
		}
		if err != nil {
			return done, fmt.Errorf("verify %s: %w", in.Table, err)
		}
		done.Tables++
	}
	return done, nil
}

func verifyTable(ctx context.Context, rd *reader.Reader, t grid.Table, o *Options, done *Result) error {
	return rd.Scan(ctx, t, reader.Pace{Rate: o.Rate, Wait: o.Wait}, func(it attr.Item, units float64) {
		done.Units += units
		if it == nil {
			if o.Progress != nil {
				o.Progress(*done)
			}
			return
		}
		done.Rows++
		readings, problem := row.Check(t, it)
		done.Readings += int64(len(readings))
		if o.Reading != nil && problem == nil && len(readings) > 0 {
			o.Reading(readings[0].Series, readings[0].Time)
		}
		if problem != nil {
			done.Damaged++
			o.Found(*row.Damaged(t, it, problem))
		}
	})
}
