package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// sharedRow is a table of two processes, whose readings of one hour share a row.
type sharedRow struct {
	hooked, other *dynamo.Store // the requests of the store "hooked" pass through a hook
	table         grid.Table
	hour          time.Time
}

func shareRow(t *testing.T, url string, h *actionHook) *sharedRow {
	t.Helper()
	registry := fmt.Sprintf("t_registry%d", registries.Add(1))
	s := &sharedRow{hour: someTime.Truncate(time.Hour)}
	client := dynamodb.New(hooked(url, h).Options(), func(o *dynamodb.Options) { o.Retryer = dynamo.NewRetryer() })
	s.hooked = openWith(t, dynamo.Options{Client: client, Registry: registry})
	s.other = openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: registry})
	s.table = newTable(t, s.hooked)
	h.sent.Store(0)
	return s
}

func (*sharedRow) layout(varve.Series) store.Layout { return store.Layout{RowWindow: time.Hour} }

// reading returns a reading of the given minute. It arrived the given number of seconds after someTime.
func (s *sharedRow) reading(minute, seconds int, field string) varve.Reading {
	r := sensor(s.hour.Add(time.Duration(minute)*time.Minute), field, varve.IntValue(int64(minute)))
	r.Arrived = someTime.Add(time.Duration(seconds) * time.Second)
	return r
}

func (s *sharedRow) write(t *testing.T, to *dynamo.Store, list ...varve.Reading) {
	t.Helper()
	for _, letter := range sendWith(t, to, store.Batch{Table: s.table, Readings: list, Layout: s.layout}) {
		if letter != 's' {
			t.Fatalf("a reading is %c, want s", letter)
		}
	}
}

// erase erases the readings of minute 0 that had arrived at someTime.
func (s *sharedRow) erase(t *testing.T, by *dynamo.Store) int64 {
	t.Helper()
	n, err := by.Erase(t.Context(), store.Erasure{
		Table: s.table, Series: s.reading(0, 0, "v").Series, Arrived: someTime,
		Window: varve.Window{From: s.hour, To: s.hour.Add(time.Minute)}, Layout: s.layout(varve.Series{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *sharedRow) check(t *testing.T, want ...varve.Reading) {
	t.Helper()
	r := store.Range{Table: s.table, Series: want[0].Series, Window: varve.AllTime(), Consistent: true, Layout: s.layout(varve.Series{})}
	page, err := s.other.Read(t.Context(), r, nil)
	if err != nil || fmt.Sprint(page.Readings) != fmt.Sprint(want) {
		t.Errorf("stored: %v, %v\nwant    %v", page.Readings, err, want)
	}
}

// TestErase_KeepsReadingStoredAfterLostAnswer loses the answer to the deletion or the replacement of a
// row. Before the request is repeated, another process writes to the row. The row then has as many
// readings as before the erasure. The later reading must stay, even if it has the identity of the erased
// one.
func TestErase_KeepsReadingStoredAfterLostAnswer(t *testing.T) {
	t.Parallel()
	for _, em := range both() {
		url := em.Start(t)
		for _, action := range []string{"DeleteItem", "PutItem"} {
			for _, minute := range []int{0, 2} {
				t.Run(fmt.Sprint(em.Name, action, minute), func(t *testing.T) {
					clearTables(t, url)
					h := &actionHook{action: action, lost: true}
					s := shareRow(t, url, h)
					first, later := []varve.Reading{s.reading(0, 0, "v")}, s.reading(minute, 1, "v")
					want := []varve.Reading{later}
					if action == "PutItem" { // the other reading of the row stays, so the row is replaced
						first = append(first, s.reading(30, 0, "v"))
						want = append(want, first[1])
					}
					s.write(t, s.other, first...)
					h.after = func() { s.write(t, s.other, later) }
					s.erase(t, s.hooked)
					s.check(t, want...)
				})
			}
		}
	}
}

// TestWrite_KeepsValuesOfRowWithAsManyReadings lets one process read a row. Then a reading of the row
// is erased, and another one with a new field is stored. The first process adds a reading with the same
// field. It must not overwrite the values of the other reading.
func TestWrite_KeepsValuesOfRowWithAsManyReadings(t *testing.T) {
	t.Parallel()
	for _, em := range both() {
		url := em.Start(t)
		for _, minute := range []int{0, 2} {
			t.Run(fmt.Sprint(em.Name, minute), func(t *testing.T) {
				clearTables(t, url)
				h := &actionHook{action: "UpdateItem"}
				s := shareRow(t, url, h)
				erased, stays := s.reading(0, 0, "v"), s.reading(10, 0, "v")
				later, last := s.reading(minute, 1, "v"), s.reading(20, 1, "v")
				later.Fields = append(later.Fields, varve.Field{Name: "w", Value: varve.IntValue(7)})
				last.Fields = append(last.Fields, varve.Field{Name: "w", Value: varve.IntValue(8)})
				s.write(t, s.other, erased, stays)
				h.before = func() {
					if n := s.erase(t, s.other); n != 1 {
						t.Errorf("%d readings were erased, want 1", n)
					}
					s.write(t, s.other, later)
				}
				s.write(t, s.hooked, last)
				s.check(t, later, stays, last)
			})
		}
	}
}
