package rollup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
)

// TestPageCache_BoundsMemory fills a cache with pages that have long lists of fields as keys, or long ids.
// The cache must stay within its limit.
func TestPageCache_BoundsMemory(t *testing.T) {
	const limit, long = 1 << 20, 60_000
	c := cache[pageKey, *cachedPage]{limit: limit}
	text := strings.Repeat("x", long)
	for i := range 100 {
		wide := pageKey{fields: text + fmt.Sprint(i)}
		c.put(wide, newCachedPage(&wide, nil, Page{}))
		id, err := varve.ParseID(text[:50] + fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		f := Field{Name: text[:200], First: Point{At: varve.Position{ID: id}}, Last: Point{At: varve.Position{ID: id}}}
		narrow := pageKey{limit: i}
		c.put(narrow, newCachedPage(&narrow, nil, Page{Rollups: []Rollup{{Partial: Partial{Fields: []Field{f}}}}}))
	}
	size := 0
	for k, p := range c.values {
		size += len(k.fields)
		for i := range p.page.Rollups {
			size += len(p.page.Rollups[i].Fields[0].Name)
		}
	}
	if size > limit || c.bytes > limit || len(c.values) < 10 {
		t.Errorf("%d pages have %d bytes, counted as %d, want at most %d", len(c.values), size, c.bytes, limit)
	}
	for k := range c.values {
		c.remove(k)
	}
	if c.bytes != 0 {
		t.Errorf("an empty cache counts %d bytes", c.bytes)
	}
}
