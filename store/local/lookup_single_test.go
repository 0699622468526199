package local_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestWrite_ComparesReadingsWithChunks resends readings that are in chunks. Some of the resent ones have
// another value, field, id or time. Only equal readings may be duplicates.
func TestWrite_ComparesReadingsWithChunks(t *testing.T) {
	o := small(local.Options{Dir: "data", FS: vfs.NewMem()})
	tb := week(t, 3)
	s, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, tb)
	rng := rand.New(rand.NewPCG(3, 4))
	list := readings(t, tb, "a", 3000)
	for i := range list {
		if rng.IntN(5) == 0 {
			list[i].Fields = append(list[i].Fields, varve.Field{Name: "text", Value: varve.StringValue(fmt.Sprint("t", i))})
		}
		if rng.IntN(20) == 0 { // a second reading with the previous event time
			list[i].Time = list[max(i-1, 0)].Time
		}
		list[i].ID = varve.ID{}
	}
	write(t, s, tb, list, varve.Stored)
	if err := s.Close(); err != nil { // flushes the readings into chunks
		t.Fatal(err)
	}
	if s, err = local.Open(o); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	again, want := vary(t, rng, list)
	rng.Shuffle(len(again), func(i, j int) {
		again[i], again[j], want[i], want[j] = again[j], again[i], want[j], want[i]
	})
	for round := range 2 {
		for from := 0; from < len(again); from += 500 {
			result := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: again[from : from+500]}})[0]
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			for i, v := range result.Verdicts {
				if v.Outcome != want[from+i] {
					t.Fatalf("round %d: %s %v is %v, want %v", round, &again[from+i], again[from+i].Fields, v, want[from+i])
				}
				want[from+i] = varve.Duplicate
			}
		}
	}
}

// vary returns copies of the readings, some of them changed, and the expected outcomes of a write.
func vary(t *testing.T, rng *rand.Rand, list []varve.Reading) (again []varve.Reading, want []varve.Outcome) {
	t.Helper()
	var err error
	for i := range list {
		r, outcome := list[i].Clone(), varve.Duplicate
		r.ID = varve.ID{}
		switch rng.IntN(8) {
		case 0:
			r.Fields[0].Value, outcome = varve.IntValue(int64(i)+1_000_000), varve.Stored
		case 1:
			r.Fields, outcome = append(r.Fields, varve.Field{Name: "z", Value: varve.BoolValue(true)}), varve.Stored
		case 2:
			if r.ID, err = varve.ParseID(fmt.Sprint("own-", i)); err != nil {
				t.Fatal(err)
			}
			outcome = varve.Stored
		case 3:
			r.Time, outcome = r.Time.Add(time.Millisecond), varve.Stored
		case 4:
			r.ID = r.ContentID()
		}
		again, want = append(again, r), append(want, outcome)
	}
	return again, want
}
