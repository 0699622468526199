package local_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// countColumns reads the readings of device 0 as columns, and returns their number. It fails if they
// are not in the given order. It also fails if the value of a reading differs from its time in seconds
// since the start of the table's range.
func countColumns(t *testing.T, s *local.Store, in grid.Table, order varve.Order) (count int, err error) {
	series := readings(t, in, device(0), 1)[0].Series
	last := int64(-1)
	add := func(r *varve.Reading) error {
		second := r.Time.Sub(in.Window().From) / time.Second
		if r.Fields[0].Value.Number().Float64() != float64(second) {
			return fmt.Errorf("second %d has the value %v", second, r.Fields[0].Value)
		}
		if at := r.Time.UnixNano(); last >= 0 && (order == varve.Descending) != (at < last) {
			return fmt.Errorf("second %d is not in order", second)
		}
		last = r.Time.UnixNano()
		count++
		return nil
	}
	rng := store.Range{Table: in, Series: series, Window: varve.AllTime(), Order: order}
	for {
		page, err := s.ReadBlocks(t.Context(), rng, nil)
		var r varve.Reading
		for i := range page.Parts {
			p := &page.Parts[i]
			for k := range p.Len() {
				p.Fill(p.Row(k), &r)
				err = errors.Join(err, add(&r))
			}
		}
		if page.Release != nil {
			page.Release()
		}
		for i := range page.Readings {
			err = errors.Join(err, add(&page.Readings[i]))
		}
		if err != nil || !page.More {
			return count, err
		}
		if n := len(page.Readings); n > 0 {
			r = page.Readings[n-1]
		}
		after := r.Position()
		rng.After = &after
	}
}

// TestReadBlocks_CachedColumnsBesideWrites reads columns while readings are appended and inserted, and
// memtables are flushed. Each read must return the readings that were acknowledged before it.
func TestReadBlocks_CachedColumnsBesideWrites(t *testing.T) {
	for name, bytes := range map[string]int64{"all rows cached": 1 << 20, "some rows cached": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			o := local.Options{Dir: "data", FS: vfs.NewMem(), MemtableBytes: 64 << 10}
			s, err := local.Open(small(o).WithCachedColumns(bytes, 8))
			if err != nil {
				t.Fatal(err)
			}
			in := week(t, 0)
			create(t, s, in)
			list := readings(t, in, device(0), 6000)
			var mu sync.Mutex
			written := 0
			var readers sync.WaitGroup
			for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
				readers.Go(func() {
					for done := false; !done; {
						mu.Lock()
						want := written
						mu.Unlock()
						if count, err := countColumns(t, s, in, order); err != nil || count < want {
							t.Errorf("%d readings of at least %d: %v", count, want, err)
							return
						}
						done = want == len(list)
					}
				})
			}
			for from := 0; from < len(list); from += 200 {
				var even, odd []varve.Reading // odd is written after even, so its readings are late
				for i := range list[from : from+200] {
					if i%10 == 1 {
						odd = append(odd, list[from+i])
					} else {
						even = append(even, list[from+i])
					}
				}
				for _, batch := range [][]varve.Reading{even, odd} {
					write(t, s, in, batch, varve.Stored)
					mu.Lock()
					written += len(batch)
					mu.Unlock()
				}
			}
			readers.Wait()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
