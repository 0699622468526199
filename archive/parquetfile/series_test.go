package parquetfile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
)

// TestReadSeries_ReturnsSeriesFromItsRanges checks that the footer and the range of one row group are
// enough to read a series, exactly as it was written.
func TestReadSeries_ReturnsSeriesFromItsRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := genReadings(t)
		files := write(t, list, parquetfile.Options{Table: "some", GroupRows: rapid.SampledFrom([]int{1, 7, 50}).Draw(t, "rows")}, false)
		of := list[rapid.IntRange(0, len(list)-1).Draw(t, "series")].Series
		checkSeries(t, files, list, of)
		if got := readSeries(t, files, varve.Series{Tenant: of.Tenant, Stream: of.Stream, Device: "other"}); len(got) > 0 {
			t.Fatalf("%d readings of another device", len(got))
		}
	})
}

// TestReadSeries_SkipsPagesOfOtherSeries reads each of a few series that share a row group of many pages. A
// read must return exactly the readings of its series.
func TestReadSeries_SkipsPagesOfOtherSeries(t *testing.T) {
	var list []varve.Reading
	for device := range 5 {
		for i := range 9000 {
			r := varve.Reading{
				Series: varve.Series{Tenant: "acme", Stream: "s", Device: fmt.Sprint(device)}, Time: time.Unix(int64(i), 0).UTC(), Arrived: time.Unix(int64(i+1), 0).UTC(),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i * device))}},
			}
			if i%3 == device%3 {
				r.Fields = append(r.Fields, varve.Field{Name: "w", Value: varve.BoolValue(i%2 == 0)})
			}
			if v := r.Normalize(); v.Outcome == varve.Rejected {
				t.Fatal(v)
			}
			list = append(list, r)
		}
	}
	files := write(t, list, parquetfile.Options{Table: "some"}, false)
	if len(files) != 1 || len(files[0].Groups) != 1 {
		t.Fatalf("%d files, want 1 with one row group", len(files))
	}
	for i := 0; i < len(list); i += 9000 {
		checkSeries(t, files, list, list[i].Series)
	}
}

func checkSeries(t tester, files []parquetfile.File, list []varve.Reading, of varve.Series) {
	t.Helper()
	var want []string
	for i := range list {
		if list[i].Series == of {
			want = append(want, show(&list[i]))
		}
	}
	if got := readSeries(t, files, of); !slices.Equal(got, want) {
		t.Fatalf("%d readings of %s, want %d", len(got), of, len(want))
	}
}

// readSeries reads a series from the row groups that may have it. For each of them, it reads only the
// row group and the footer.
func readSeries(t tester, files []parquetfile.File, of varve.Series) (got []string) {
	t.Helper()
	for _, f := range files {
		last := f.Groups[len(f.Groups)-1]
		footer := last.Offset + last.Size
		for i, g := range f.Groups {
			if of.Compare(g.First) < 0 || of.Compare(g.Last) > 0 {
				continue
			}
			r := &parquetfile.Ranges{Length: int64(len(f.Body))}
			r.Add(g.Offset, f.Body[g.Offset:g.Offset+g.Size])
			r.Add(footer, f.Body[footer:])
			rd, err := parquetfile.OpenRanges(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := rd.ReadSeries(i, of)
			if err != nil {
				t.Fatal(err)
			}
			for k := range blockLen(b) {
				var r varve.Reading
				b.Fill(k, &r)
				got = append(got, show(&r))
			}
		}
	}
	return got
}

func blockLen(b *block.Block) int {
	if b == nil {
		return 0
	}
	return b.Len()
}
