package fields_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/store"
)

func recordedNames(t *testing.T, items *counting, device string) int {
	t.Helper()
	list, err := items.Store.Get(t.Context(), []store.Key{{PK: "FIELDS#t/s/" + device, SK: "#NAMES"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return 0
	}
	data, err := base64.StdEncoding.DecodeString(list[0].Attrs["names"].Text())
	if err != nil {
		t.Fatal(err)
	}
	return len(data) / 8
}

// TestAdmit_BoundsFieldsOfProcessesThatLag fills a series in one process while another process remembers
// fewer names. The other process must reject names beyond the limit, and admit names that fit or exist.
func TestAdmit_BoundsFieldsOfProcessesThatLag(t *testing.T) {
	items := newItems()
	first, second := fields.New(items, 100), fields.New(items, 100)
	expect(t, admit(t, first, with("a", upTo(0, 60)...)), "ok")
	expect(t, admit(t, second, with("a", upTo(0, 60)...)), "ok")
	expect(t, admit(t, first, with("a", upTo(60, 98)...)), "ok")
	expect(t, admit(t, second, with("a", upTo(200, 240)...), with("a", "f201"), with("a", "f61"), with("a", "x"), with("a", "y", "z"), with("a", "y")), "too_many_fields ok ok ok too_many_fields too_many_fields")
	expect(t, admit(t, first, with("a", "new"), with("a", "f5", "x", "f201")), "too_many_fields ok")
	if n := recordedNames(t, items, "a"); n != 100 {
		t.Errorf("%d names are recorded, want 100", n)
	}
}

// TestAdmit_BoundsFieldsOfConcurrentProcesses writes to one series from three processes with two
// goroutines each. All admitted names must be recorded, and stay within the limit.
func TestAdmit_BoundsFieldsOfConcurrentProcesses(t *testing.T) {
	const limit, processes = 100, 3
	for seed := range uint64(30) {
		items := newItems()
		var mu sync.Mutex
		var writers sync.WaitGroup
		admitted := map[string]bool{}
		for _, name := range upTo(0, 30) {
			admitted[name] = true
		}
		for p := range processes {
			r := fields.New(items.Store, limit)
			expect(t, admit(t, r, with("a", upTo(0, 30)...)), "ok") // from now on, the process records all names
			for g := range 2 {
				writers.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(2*p+g)))
					for range 30 {
						from := random.IntN(400)
						reading := with("a", upTo(from, from+1+random.IntN(15))...)
						verdicts := make([]varve.Verdict, 1)
						if err := r.Admit(t.Context(), []varve.Reading{reading}, verdicts); err != nil {
							t.Error(err)
						}
						if verdicts[0].Outcome == varve.Rejected {
							continue
						}
						mu.Lock()
						for _, f := range reading.Fields {
							admitted[f.Name] = true
						}
						mu.Unlock()
					}
				})
			}
		}
		writers.Wait()
		if n := recordedNames(t, items, "a"); n > limit || n < limit-15 || n != len(admitted) {
			t.Fatalf("seed %d: %d names are recorded and %d admitted; the limit is %d", seed, n, len(admitted), limit)
		}
	}
}

// TestAdmit_RecordsNoMoreThanLimit lets a process admit names of a full series before it reads the names of
// the series. These names must not be added to the names of the series.
func TestAdmit_RecordsNoMoreThanLimit(t *testing.T) {
	items := newItems()
	expect(t, admit(t, fields.New(items, 100), with("a", upTo(0, 100)...)), "ok")
	restarted := fields.New(items, 100)
	expect(t, admit(t, restarted, with("a", upTo(200, 225)...), with("a", "g"), with("a", "f5"), with("a", "f200")), "ok too_many_fields ok too_many_fields")
	if n := recordedNames(t, items, "a"); n != 100 {
		t.Errorf("%d names are recorded, want 100", n)
	}
}

type lostReads struct {
	*counting
	left int
}

func (l *lostReads) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if l.left--; l.left < 0 {
		return nil, store.ErrClosed
	}
	return l.counting.Get(ctx, keys, consistent)
}

// TestAdmit_KeepsNamesIfReadsFail makes reads fail that follow a conflict. The names that the series has
// must never be replaced.
func TestAdmit_KeepsNamesIfReadsFail(t *testing.T) {
	for permitted := range 3 {
		items := &lostReads{counting: newItems(), left: 100}
		first, second := fields.New(items, 100), fields.New(items, 100)
		expect(t, admit(t, first, with("a", upTo(0, 60)...)), "ok")
		expect(t, admit(t, second, with("a", upTo(0, 61)...)), "ok")
		expect(t, admit(t, first, with("a", upTo(61, 90)...)), "ok")
		items.left = permitted
		admit(t, second, with("a", upTo(200, 230)...)) // the write of the names conflicts
		items.left = 100
		expect(t, admit(t, second, with("a", "f230"), with("a", "f5")), "ok ok")
		if n := recordedNames(t, items.counting, "a"); n != 91 {
			t.Errorf("%d reads permitted: %d names are recorded, want the 90 of the first process and a new one", permitted, n)
		}
	}
}
