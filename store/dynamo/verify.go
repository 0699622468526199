package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// Verification says what [Store.Verify] reads, and how fast.
type Verification struct {
	// Prefixes are those of the tables; nil: all tables of this deployment.
	Prefixes []string
	// Rate is how many read units a second it may take; 0: no limit.
	Rate float64
	// Found is called with each row that is not as it should be.
	Found func(store.DamagedRow)
	// Progress, if not nil, is called with what was read so far.
	Progress func(Verified)
	// Reading, if not nil, is called with the series and time of readings, row by row.
	Reading func(varve.Series, time.Time)
	// Table, if not nil, is called with each table before it is read.
	Table func(grid.Table)
	// Wait replaces waiting on the clock; nil: it does not.
	Wait func(context.Context, time.Duration) error
}

// Verified is what was read.
type Verified struct {
	Tables   int
	Rows     int64
	Readings int64
	Damaged  int64 // rows that are not as they should be
	Units    float64
}

// verifyRows is how many rows one request reads at most, so that it does not
// take more units at once than a table has.
const verifyRows = 500

// Verify reads whole tables, and checks that each row keeps its invariants. It
// changes nothing. It needs the permission dynamodb:Scan.
func (s *Store) Verify(ctx context.Context, v Verification) (done Verified, err error) {
	if err := s.enter(ctx); err != nil {
		return done, err
	}
	defer s.leave()
	if v.Wait == nil {
		v.Wait = wait
	}
	infos, err := s.load(ctx, &selection{prefixes: slices.Sorted(slices.Values(v.Prefixes)), any: v.Prefixes == nil})
	if err != nil {
		return done, err
	}
	for i := range infos {
		in := &infos[i]
		if !in.Owned || in.Status == store.Gone {
			continue
		}
		if v.Table != nil {
			v.Table(in.Table)
		}
		if err := s.verifyTable(ctx, in.Table, &v, &done); err != nil && !errors.Is(err, store.ErrNoTable) {
			return done, fmt.Errorf("verify %s: %w", in.Table, err)
		}
		done.Tables++
	}
	return done, nil
}

func (s *Store) verifyTable(ctx context.Context, t grid.Table, v *Verification, done *Verified) error {
	return s.scanTable(ctx, t, v.Rate, v.Wait, func(it item, units float64) {
		done.Units += units
		if it == nil {
			if v.Progress != nil {
				v.Progress(*done)
			}
			return
		}
		done.Rows++
		list, problem := verifyRow(t, it)
		done.Readings += int64(len(list))
		if v.Reading != nil && problem == nil && len(list) > 0 {
			v.Reading(list[0].Series, list[0].Time)
		}
		if problem != nil {
			done.Damaged++
			v.Found(*damagedRow(t, it, problem))
		}
	})
}

// scanTable calls each with all rows of a table, and after each request with nil
// and its units.
func (s *Store) scanTable(ctx context.Context, t grid.Table, rate float64, wait func(context.Context, time.Duration) error, each func(item, float64)) error {
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.Name()), Limit: aws.Int32(verifyRows), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for {
		var out *dynamodb.ScanOutput
		err := s.steady(ctx, t, "Scan", func() (err error) {
			out, err = s.client.Scan(ctx, in)
			return err
		})
		if err != nil {
			return s.fail("Scan", t.Name(), err)
		}
		cost := s.usage.reads.read(out.ConsumedCapacity)
		for _, it := range out.Items {
			each(it, 0)
		}
		each(nil, cost.Units)
		if rate > 0 {
			if err := wait(ctx, time.Duration(cost.Units/rate*float64(time.Second))); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// wait waits for a while, unless the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
