package archive_test

import (
	"context"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/store"
)

const (
	decodedGroup = 5                                 // readings of a row group
	decodedLimit = 2*decodedGroup*largeBytes + 10000 // bytes of two row groups
)

// textBytes returns the size of the texts of a page.
func textBytes(page *store.BlockPage) (n int) {
	for i := range page.Parts {
		for k := range page.Parts[i].Len() {
			var r varve.Reading
			page.Parts[i].Fill(page.Parts[i].Row(k), &r)
			n += len(r.Fields[0].Value.Text())
		}
	}
	return n
}

// readAll reads a range to its end, and returns the number of its readings. No page may have more decoded
// texts than the limit.
func readAll(t *testing.T, s *archive.SeriesReader) (readings int) {
	t.Helper()
	for {
		page, err := s.Next(context.Background(), 1<<20)
		must(t, err)
		if size := textBytes(&page); size > decodedLimit {
			t.Errorf("%d bytes were decoded at a time, want at most %d", size, decodedLimit)
		}
		for i := range page.Parts {
			readings += page.Parts[i].Len()
		}
		if !page.More {
			return readings
		}
	}
}

// TestReader_BoundsDecodedBytes reads an archive whose row groups are small in the file, and large when they are
// decoded. One request has all of them, but the reader must decode only as many as the limit permits.
func TestReader_BoundsDecodedBytes(t *testing.T) {
	a, records := archiveLargeTexts(t, decodedGroup)
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		r := archive.NewReader(a)
		r.LimitDecoded(decodedLimit)
		rng := store.Range{Table: records[0].Table, Series: largeSeries, Window: varve.AllTime(), Order: order}
		if n := readAll(t, r.Open(&records[0], rng)); n != largeReadings {
			t.Errorf("order %d: %d readings, want %d", order, n, largeReadings)
		}
	}
}

// TestSharedReads_BoundDecodedBytes reads the tables of a merged archive one after the other. The row groups
// that one read decodes for the others must not exceed the limit either.
func TestSharedReads_BoundDecodedBytes(t *testing.T) {
	a, records := archiveLargeTexts(t, decodedGroup)
	done, err := a.Merge(t.Context(), nil, true)
	if err != nil || len(done) != 1 || len(done[0].Tables) != largeTables {
		t.Fatalf("%+v, %v; want a merged archive of all tables", done, err)
	}
	r := archive.NewReader(a)
	r.LimitDecoded(decodedLimit)
	reads := r.Share()
	for i := range records {
		rec, _, err := a.Catalog().Get(t.Context(), records[i].Table)
		must(t, err)
		rng := store.Range{Table: rec.Table, Series: largeSeries, Window: varve.AllTime(), Order: varve.Descending}
		if n := readAll(t, reads.Open(&rec, rng)); n != largeReadings {
			t.Errorf("%s: %d readings, want %d", rec.Table, n, largeReadings)
		}
		if size := largeBytes * reads.RetainedRows(); size > decodedLimit {
			t.Errorf("%d bytes of decoded row groups are retained, want at most %d", size, decodedLimit)
		}
	}
}
