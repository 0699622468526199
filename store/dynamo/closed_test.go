package dynamo

import (
	"fmt"
	"github.com/varvedb/varve/grid"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func closedAt(n int) (rowAt, *row) {
	r := &row{keys: map[string]bool{fmt.Sprint("id", n): true}, bytes: closedBytes}
	return rowAt{table: grid.Table{Prefix: "t"}, place: place{ms: int64(n)}}, r
}

// TestClosedRowsAreBounded: the rows used last are remembered, and no more of
// them than there is room for.
func TestClosedRowsAreBounded(t *testing.T) {
	var c closedRows
	for n := range 3 * closedRowsMost {
		at, r := closedAt(n)
		c.learn(c.now(), at, r)
		first, _ := closedAt(0)
		if c.contentsOf(first) == nil {
			t.Fatalf("the first one, which is used all the time, is forgotten after %d", n)
		}
	}
	if len(c.rows) != closedRowsMost || c.used.Len() != closedRowsMost {
		t.Errorf("%d rows, %d in order", len(c.rows), c.used.Len())
	}
	for n := range 100 { // each takes a tenth of the room
		at, r := closedAt(n)
		r.keys = map[string]bool{strings.Repeat("x", closedBytesMost/10): true}
		c.learn(c.now(), at, r)
	}
	if c.bytes > closedBytesMost || len(c.rows) == 0 || len(c.rows) > 10 {
		t.Errorf("%d rows with %d bytes", len(c.rows), c.bytes)
	}
	c.forget(grid.Table{Prefix: "t"})
	if len(c.rows) != 0 || c.used.Len() != 0 || c.bytes != 0 {
		t.Errorf("forgotten, there are %d rows with %d bytes", len(c.rows), c.bytes)
	}
}

// TestClosedRowsAreForgotten: an open row is never remembered, a closed one not
// for long, and not if a table went while it was asked for.
func TestClosedRowsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c closedRows
		at, r := closedAt(1)
		r.bytes--
		if c.learn(c.now(), at, r); c.contentsOf(at) != nil {
			t.Error("an open row is remembered")
		}
		r.bytes++
		if c.learn(c.now(), at, r); c.contentsOf(at) == nil {
			t.Error("a closed row is not remembered")
		}
		<-time.After(closedFor + time.Second)
		if c.contentsOf(at) != nil || len(c.rows) != 0 || c.bytes != 0 {
			t.Error("it is remembered for ever")
		}
		epoch := c.now()
		c.forget(at.table)
		if c.learn(epoch, at, r); c.contentsOf(at) != nil {
			t.Error("a row of a table that has gone is remembered")
		}
	})
}
