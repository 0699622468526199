package archive_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestErase_RemovesCoveredReadingsAlone erases readings from archives with faults in between. The recorded
// archive must always have all other readings. After an erasure without a fault, no file may have a covered
// reading.
func TestErase_RemovesCoveredReadingsAlone(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx, s := context.Background(), mem.New(clock)
		root, err := os.MkdirTemp(dir, "objects")
		must(t, err)
		defer func() { must(t, os.RemoveAll(root)) }()
		objects, err := folder.Open(root, folder.Shared)
		must(t, err)
		want := fill(t, s, table)
		must(t, s.Retire(ctx, table, now.Add(-time.Hour)))
		if rapid.Bool().Draw(t, "foreign") {
			must(t, objects.PutNew(ctx, archive.Dir("p", "default", table)+rapid.SampledFrom([]string{"manifest.json", "part-0123456789abcdef-00000.parquet", "readme"}).Draw(t, "name"), []byte("foreign")))
		}
		whole := archiver(s, s, objects, s)
		_, err = whole.Archive(ctx, info(t, s, table))
		must(t, err)
		t.Repeat(map[string]func(*rapid.T){
			"erase": func(t *rapid.T) {
				covers := genCover(t)
				p := genProcess(t)
				a := archiver(s, faultyItems{s, p}, faultyObjects{objects, p}, faultySource{s, p})
				erased, err := a.Erase(ctx, []grid.Table{table}, covers, nil)
				n := erased[table]
				if err != nil && p.at < 0 && !strings.Contains(err.Error(), "by hand") {
					t.Fatalf("without a fault: %v", err)
				}
				rest := slices.DeleteFunc(slices.Clone(want), func(r varve.Reading) bool { return covers(&r) })
				r, _, rerr := whole.Catalog().Get(ctx, table)
				must(t, rerr)
				has := readable(objects, &r)
				switch {
				case err == nil && int64(len(want)-len(rest)) != n && p.at < 0:
					t.Fatalf("%d readings were erased, want %d", n, len(want)-len(rest))
				case slices.Equal(has, texts(rest)):
					want = rest
				case err == nil, !slices.Equal(has, texts(want)):
					t.Fatalf("the archive has %d readings after error %v, want %d or %d", len(has), err, len(want), len(rest))
				}
				if err == nil && p.at < 0 {
					checkErased(t, objects, covers)
				}
			},
		})
		r, _, err := whole.Catalog().Get(ctx, table)
		must(t, err)
		must(t, whole.Verify(ctx, &r))
	})
}

// TestReader_AsksForRetryDuringErasure erases readings of an archive after a reader has listed it. The
// missing files of the listed archive must not count as damage, but as a reason to retry. A later read must
// return the other readings.
func TestReader_AsksForRetryDuringErasure(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a := newArchived(t, dir)
		defer a.remove(t)
		if len(a.want) == 0 {
			return
		}
		erased := a.want[0].Device
		_, err := a.archiver.Erase(context.Background(), []grid.Table{table}, func(r *varve.Reading) bool { return r.Device == erased }, nil)
		must(t, err)
		rng := store.Range{Table: table, Series: a.want[len(a.want)-1].Series, Window: varve.AllTime()}
		if _, err := a.read(&rng, 100); varve.FailureOf(err) != varve.Unavailable || !strings.Contains(err.Error(), table.Name()) {
			t.Fatalf("%v", err)
		}
		now, _, err := a.archiver.Catalog().Get(context.Background(), table)
		must(t, err)
		a.record = now
		if got, err := a.read(&rng, 100); err != nil || (len(got) == 0) != (rng.Series.Device == erased) {
			t.Fatalf("%d readings, %v", len(got), err)
		}
	})
}

// genCover draws a function that selects the readings to erase: of one device, up to an arrival.
func genCover(t *rapid.T) func(*varve.Reading) bool {
	device := rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(t, "device")
	until := table.Month.Start().Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "until")) * time.Hour)
	return func(r *varve.Reading) bool { return r.Device == device && !r.Arrived.After(until) }
}

// readable returns the readings of a recorded archive, or nil if an injected fault destroyed a file.
func readable(o objectstore.Store, r *archive.Record) []string {
	var all []varve.Reading
	a := archive.New(archive.Options{Objects: o, Now: clock})
	if a.Verify(context.Background(), r) != nil {
		return nil
	}
	eachStored(o, r.Dir, func(_ string, list []varve.Reading) { all = append(all, list...) }, a.FilesOf(context.Background(), r))
	return texts(all)
}

func checkErased(t *rapid.T, o objectstore.Store, covers func(*varve.Reading) bool) {
	eachStored(o, "", func(key string, list []varve.Reading) {
		for i := range list {
			if covers(&list[i]) {
				t.Fatalf("%s has %s", key, &list[i])
			}
		}
	}, nil)
}

// eachStored passes the readings of each readable file to a function. If the argument "names" is
// not nil, only files with these keys are read.
func eachStored(o objectstore.Store, prefix string, each func(key string, list []varve.Reading), names []string) {
	ctx := context.Background()
	var keys []string
	_ = o.List(ctx, prefix, func(f objectstore.Object) error { // an error leaves files out, and the comparison fails
		if strings.Contains(f.Key, "/part-") && (names == nil || slices.Contains(names, f.Key)) {
			keys = append(keys, f.Key)
		}
		return nil
	})
	for _, key := range keys {
		body, err := o.Get(ctx, key, 0, -1)
		if err != nil {
			continue
		}
		rd, err := parquetfile.Open(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			continue
		}
		var list []varve.Reading
		for g := range rd.Groups() {
			blocks, err := rd.ReadGroup(g, true)
			if err != nil {
				continue
			}
			for _, b := range blocks {
				for k := range b.Len() {
					var r varve.Reading
					b.Fill(k, &r)
					list = append(list, r)
				}
			}
		}
		each(key, list)
	}
}
