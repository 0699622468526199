package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestSeriesCache_IsBoundedInBytes checks that series with long texts and many tags fill the cache earlier
// than others, and that the cache has the latest series.
func TestSeriesCache_IsBoundedInBytes(t *testing.T) {
	for _, tt := range []struct {
		tags      int
		mostTexts int
	}{
		{1, 20_000},
		{150, 300},
	} {
		d := Defaults{Lines: &LineMapping{Device: DefaultDeviceTags, TagFields: true}}
		var c seriesCache
		c.reset(&d)
		tags := ""
		for i := range tt.tags {
			tags += fmt.Sprintf(",t%d=1", i)
		}
		most := 0
		for i := range 30_000 {
			if i > 5000 && tt.tags > 1 {
				break
			}
			text := fmt.Sprintf("m,host=h%05d%s", i, tags)
			if _, _, v := c.find([]byte(text + " a=1")); v.Outcome != 0 {
				t.Fatalf("%s: %s", text, v)
			}
			if most = max(most, len(c.byText)); c.byText[text] == nil {
				t.Fatalf("%.40s is missing", text)
			}
		}
		if most > tt.mostTexts || most < tt.mostTexts/2 {
			t.Errorf("%d tags: up to %d series of %d bytes, want at most %d", tt.tags, most, len(strings.TrimSpace(tags))+13, tt.mostTexts)
		}
	}
}
