package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

const (
	tornWriters = 64
	tornEach    = 3
	tornFields  = 4
)

// TestWrite_NeverTearsReadings makes 64 writers write at the same time, and cuts the connections of some
// requests before or after they are executed. Every read must return whole readings, and each
// acknowledged reading must be stored once.
func TestWrite_NeverTearsReadings(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			turns := 6 // one turn for each combination of the layouts below
			if testing.Short() || e.Name == dynamotest.Local.Name {
				turns = 2
			}
			url := e.Start(t)
			for turn := range turns {
				w := &writeHook{cut: func(n int64) cutTime {
					if int(n)%turns != turn {
						return never
					}
					return early + cutTime(int(n)/turns%2)
				}}
				registry := fmt.Sprintf("t_registry%d", turn)
				s := openOver(t, url, registry, w)
				reader := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: registry}) // this store retries failed requests
				tb := tableOf(fmt.Sprintf("torn%d", turn), someTime)
				if err := s.Create(t.Context(), tb, store.Hot); err != nil {
					t.Fatal(err)
				}
				layout := store.Layout{RowWindow: []time.Duration{0, time.Hour}[turn%2], Expect: store.Expect(turn % 3)}
				writeTorn(t, s, reader, tb, layout)
				if n := keysIn(t, url, tb); n != tornWriters*tornEach {
					t.Errorf("rows have %d keys, want %d", n, tornWriters*tornEach)
				}
			}
		})
	}
}

func writeTorn(t *testing.T, s, reader *dynamo.Store, tb grid.Table, layout store.Layout) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching, writing sync.WaitGroup
	var seen atomic.Int64
	watching.Go(func() {
		for ctx.Err() == nil {
			whole := wholeReadings(t, reader, tb, layout)
			seen.Store(max(seen.Load(), int64(len(whole))))
		}
	})
	for w := range tornWriters {
		writing.Go(func() {
			for i := range tornEach {
				r := sensor(someTime, "f0", varve.IntValue(int64(w*tornEach+i)))
				for f := 1; f < tornFields; f++ {
					r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("f%d", f), Value: varve.IntValue(int64(w))})
				}
				r.ID = varve.ID{}
				r.Normalize()
				acknowledge(t, s, tb, layout, r)
			}
		})
	}
	writing.Wait()
	cancel()
	watching.Wait()
	if whole := wholeReadings(t, reader, tb, layout); len(whole) != tornWriters*tornEach {
		t.Errorf("%d readings are stored, want %d", len(whole), tornWriters*tornEach)
	}
	if seen.Load() == 0 {
		t.Error("no read saw a reading during the writes")
	}
}

func keysIn(t *testing.T, url string, tb grid.Table) (n int) {
	t.Helper()
	name := tb.Name()
	out, err := dynamotest.Client(url).Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	if err != nil || len(out.LastEvaluatedKey) > 0 {
		t.Fatalf("scan: %v", err)
	}
	for _, row := range out.Items {
		if ids, ok := row["_ids"].(*types.AttributeValueMemberSS); ok {
			n += len(ids.Value)
		}
	}
	return n
}

// acknowledge sends a reading repeatedly until it is acknowledged.
func acknowledge(t *testing.T, s *dynamo.Store, tb grid.Table, layout store.Layout, r varve.Reading) {
	for range 1000 {
		res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: []varve.Reading{r}, Layout: func(varve.Series) store.Layout { return layout }}})[0]
		switch {
		case res.Err != nil:
			t.Errorf("%v", res.Err)
			return
		case res.Verdicts[0].Outcome != varve.Rejected:
			return
		case !res.Verdicts[0].Code.Retryable():
			t.Errorf("%s", res.Verdicts[0])
			return
		}
	}
	t.Error("a reading was not acknowledged in 1000 attempts")
}

// wholeReadings returns the ids of the readings that a read returns. It checks that the readings
// are whole and distinct.
func wholeReadings(t *testing.T, s *dynamo.Store, tb grid.Table, layout store.Layout) map[varve.ID]bool {
	r := store.Range{Table: tb, Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime(), Consistent: true, Layout: layout}
	seen := map[varve.ID]bool{}
	page, err := s.Read(t.Context(), r, nil)
	if err != nil || page.More {
		t.Errorf("read: %v, more %v", err, page.More)
	}
	for i := range page.Readings {
		if got := &page.Readings[i]; len(got.Fields) != tornFields {
			t.Errorf("torn: %s", got)
		} else if seen[got.ID] {
			t.Errorf("returned twice: %s", got)
		}
		seen[page.Readings[i].ID] = true
	}
	return seen
}
