package writer

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo/row"
)

func closedRow(n int) (row.Address, *row.Row) {
	r := &row.Row{Keys: map[string]bool{fmt.Sprint("id", n): true}, Bytes: closedBytes}
	return row.Ref{Table: grid.Table{Prefix: "t"}, MS: int64(n)}.Address(), r
}

// TestClosedRows_AreBounded fills the cache of closed rows. It must contain the most recently used rows,
// within its limits of rows and bytes.
func TestClosedRows_AreBounded(t *testing.T) {
	c := newClosedRows()
	oldest, _ := closedRow(0)
	for n := range 3 * maxClosedRows {
		at, r := closedRow(n)
		c.put(c.drops(), at, r)
		if c.get(oldest) == nil {
			t.Fatalf("the oldest row, which is used all the time, is missing after %d", n)
		}
	}
	if rows, _ := c.rows.Len(); rows != maxClosedRows {
		t.Errorf("%d rows, want %d", rows, maxClosedRows)
	}
	for n := range 100 { // each row uses a tenth of the bytes
		at, r := closedRow(n)
		r.Keys = map[string]bool{strings.Repeat("x", maxClosedBytes/10): true}
		c.put(c.drops(), at, r)
	}
	if rows, bytes := c.rows.Len(); bytes > maxClosedBytes || rows == 0 || rows > 10 {
		t.Errorf("%d rows with %d bytes", rows, bytes)
	}
	c.drop(grid.Table{Prefix: "t"})
	if rows, bytes := c.rows.Len(); rows != 0 || bytes != 0 {
		t.Errorf("after the drop: %d rows with %d bytes", rows, bytes)
	}
}

// TestClosedRows_ExcludeOpenOldAndDroppedRows puts rows that the cache must not return. One row is
// open, one was put too long ago, and the table of one was dropped during the request.
func TestClosedRows_ExcludeOpenOldAndDroppedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClosedRows()
		at, r := closedRow(1)
		r.Bytes--
		if c.put(c.drops(), at, r); c.get(at) != nil {
			t.Error("an open row is cached")
		}
		r.Bytes++
		if c.put(c.drops(), at, r); c.get(at) == nil {
			t.Error("a closed row is not cached")
		}
		<-time.After(closedFor + time.Second)
		if c.get(at) != nil {
			t.Error("an old row serves")
		}
		if rows, bytes := c.rows.Len(); rows != 0 || bytes != 0 {
			t.Errorf("after the old row: %d rows with %d bytes", rows, bytes)
		}
		drops := c.drops()
		c.drop(at.Table)
		if c.put(drops, at, r); c.get(at) != nil {
			t.Error("a row of a dropped table is cached")
		}
	})
}
