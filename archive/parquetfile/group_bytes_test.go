package parquetfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
)

// TestBuilder_BoundsBytesOfRowGroups writes readings with long texts. A row group must not have many more bytes
// than the limit, because it needs a multiple of them in memory.
func TestBuilder_BoundsBytesOfRowGroups(t *testing.T) {
	var groups []parquetfile.Group
	b := parquetfile.NewBuilder(parquetfile.Options{Put: func(f parquetfile.File) error {
		groups = append(groups, f.Groups...)
		return nil
	}})
	text := strings.Repeat("x", 60<<10)
	const n = 3000 // 176 MiB
	for i := range n {
		r := varve.Reading{
			Series: varve.Series{Tenant: "a", Stream: "s", Device: "d"}, Time: time.Unix(int64(i), 0),
			Fields: []varve.Field{{Name: "v", Value: varve.StringValue(text)}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		if err := b.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if size := g.Readings * int64(len(text)); size > 33<<20 {
			t.Errorf("a row group has %d readings, %d MiB", g.Readings, size>>20)
		}
	}
	if len(groups) < 5 {
		t.Errorf("%d row groups, want at least 5", len(groups))
	}
}
