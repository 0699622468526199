package query

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// TestBuffer_CountsUnusedMemory checks that a page whose readings have one field, but memory for many,
// is not reused.
func TestBuffer_CountsUnusedMemory(t *testing.T) {
	for fields, want := range map[int]bool{1: false, 8: false, 1000: true} {
		page := store.Page{Readings: make([]varve.Reading, pageReadings)}
		for i := range page.Readings {
			page.Readings[i].Fields = make([]varve.Field, 1, fields)
		}
		p := pager{e: new(Engine), q: new(Query)}
		s := source{buf: new(buffer)}
		p.usePage(&s, &page)
		if s.buf.large != want || s.size != pageReadings*fieldBytes {
			t.Errorf("memory for %d fields: large is %t, size %d, want %t, size %d", fields, s.buf.large, s.size, want, pageReadings*fieldBytes)
		}
	}
}
