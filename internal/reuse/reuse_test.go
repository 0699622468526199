package reuse_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/varvedb/varve/internal/reuse"
)

// TestList_KeepsValues checks that values survive garbage collections, and that the list is bounded.
func TestList_KeepsValues(t *testing.T) {
	var l reuse.List[[1]int]
	most := min(runtime.GOMAXPROCS(0)+2, 8)
	for i := range most + 10 {
		l.Put(&[1]int{i + 1})
	}
	for range 3 { // a sync.Pool is empty after two
		runtime.GC()
	}
	kept := 0
	for range most + 10 {
		if l.Get()[0] > 0 {
			kept++
		}
	}
	if kept != most {
		t.Errorf("%d values are kept, want %d", kept, most)
	}
}

// TestList_GivesValueOnce checks that concurrent users never share a value.
func TestList_GivesValueOnce(t *testing.T) {
	var l reuse.List[int]
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for range 10_000 {
				v := l.Get()
				if *v != 0 {
					t.Error("a value is used twice at the same time")
					return
				}
				*v = 1
				*v = 0
				l.Put(v)
			}
		})
	}
	users.Wait()
}

// TestGrow_KeepsElements checks the elements and the room of growing slices, and how often they are
// copied.
func TestGrow_KeepsElements(t *testing.T) {
	var s []int
	copies := 0
	for i := range 100_000 {
		before := cap(s)
		s = reuse.Grow(s, 2)
		if cap(s)-len(s) < 2 {
			t.Fatalf("room for %d elements, want 2", cap(s)-len(s))
		}
		if cap(s) != before {
			copies++
		}
		s = append(s, i)
	}
	for i, v := range s {
		if v != i {
			t.Fatalf("element %d is %d", i, v)
		}
	}
	if copies > 12 {
		t.Errorf("the slice was copied %d times, want at most 12", copies)
	}
}
