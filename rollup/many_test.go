package rollup_test

import (
	"github.com/varvedb/varve/rollup"
	"testing"
	"time"
)

// TestManyFields: an hour's readings with 256 fields each that no other has are
// counted in a time that grows as they do, far below the limit here; and who
// asks for one field is told that one.
func TestManyFields(t *testing.T) {
	const readings, limit = 400, 10 * time.Second
	r, q := counting(t, time.Hour, readings, distinct(256))
	begun := time.Now()
	all, err := r.Read(t.Context(), q)
	if err != nil || len(all.Rollups) != 1 {
		t.Fatalf("%d roll-ups, %v", len(all.Rollups), err)
	}
	if p := &all.Rollups[0]; p.Readings != readings || len(p.Fields) != 256*readings {
		t.Errorf("%d readings of %d fields", p.Readings, len(p.Fields))
	}
	if took := time.Since(begun); took > limit {
		t.Errorf("it took %s", took)
	}
	q.Fields = distinct(256)(7)[3:4]
	if one, err := r.Read(t.Context(), q); err != nil || len(one.Rollups[0].Fields) != 1 || one.Rollups[0].Field(q.Fields[0]).Count != 1 {
		t.Errorf("%+v, %v", one.Rollups, err)
	}
	q.Period = rollup.Hourly
	if again, err := r.Read(t.Context(), q); err != nil || len(again.Rollups) != 1 {
		t.Errorf("%d roll-ups, %v", len(again.Rollups), err)
	}
}
