package archive_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestReader_ReturnsRange checks that random ranges of a series equal the written readings, in both
// orders, from any position, and in pages of any size.
func TestReader_ReturnsRange(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a := newArchived(t, dir)
		defer a.remove(t)
		if len(a.want) == 0 {
			return
		}
		for range 5 {
			rng, want := a.genRange(t)
			got, err := a.read(&rng, rapid.IntRange(1, 9).Draw(t, "page"))
			must(t, err)
			if !slices.Equal(lines(got), lines(want)) {
				t.Fatalf("range %+v:\n%s\nwant\n%s", rng, strings.Join(lines(got), "\n"), strings.Join(lines(want), "\n"))
			}
		}
	})
}

// TestReader_FailsOnFaultyObjects reads missing, cut and changed objects. A read must return the
// written readings, or fail with an error that names the table.
func TestReader_FailsOnFaultyObjects(t *testing.T) {
	dir := t.TempDir()
	failed := 0
	rapid.Check(t, func(t *rapid.T) {
		a := newArchived(t, dir)
		defer a.remove(t)
		if len(a.want) == 0 {
			return
		}
		damage(t, a.objects)
		rng, want := a.genRange(t)
		got, err := a.read(&rng, 100)
		if err != nil {
			failed++
			if !strings.Contains(err.Error(), table.Name()) || varve.FailureOf(err) != varve.Damaged {
				t.Fatalf("the error does not name the table: %v", err)
			}
			return
		}
		if !slices.Equal(lines(got), lines(want)) {
			t.Fatalf("after damage, range %+v has %d readings, want %d", rng, len(got), len(want))
		}
	})
	if failed == 0 && !testing.Short() { // under -short, few sequences run
		t.Error("no damage was ever met")
	}
}

// TestReader_FailsOnChangedManifest changes the text of a manifest, but not its content. The checksum in
// the registry does not match the new text, so no read may use the manifest.
func TestReader_FailsOnChangedManifest(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a := newArchived(t, dir)
		defer a.remove(t)
		if len(a.want) == 0 {
			return
		}
		name := filepath.Join(a.root, filepath.FromSlash(a.record.ManifestKey()))
		body, err := os.ReadFile(name)
		must(t, err)
		must(t, os.Remove(name)) // the file may be read-only
		must(t, os.WriteFile(name, append(body, '\n'), 0o600))
		_, err = a.read(&store.Range{Table: table, Series: a.want[0].Series, Window: varve.AllTime()}, 100)
		if varve.FailureOf(err) != varve.Damaged || !strings.Contains(err.Error(), path.Base(name)+" has changed") {
			t.Fatalf("after the change of %s: %v", name, err)
		}
	})
}

// archived is the archive of a table with random readings.
type archived struct {
	*archive.Reader
	archiver *archive.Archiver
	objects  *folder.Folder
	root     string
	record   archive.Record
	want     []varve.Reading
}

func newArchived(t *rapid.T, dir string) *archived {
	s := mem.New(clock)
	a := &archived{}
	var err error
	a.root, err = os.MkdirTemp(dir, "objects")
	must(t, err)
	a.objects, err = folder.Open(a.root, folder.Shared)
	must(t, err)
	a.want = fill(t, s, table)
	a.archiver = archive.New(archive.Options{
		Store: s, Items: s, Objects: a.objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock, ExactCounts: true,
		GroupRows: rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "group"), FileBytes: rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(t, "file"),
	})
	a.record, err = a.archiver.Archive(context.Background(), info(t, s, table))
	must(t, err)
	a.Reader = archive.NewReader(a.archiver)
	if rapid.Bool().Draw(t, "limited") {
		a.LimitDecoded(rapid.Int64Range(0, 20_000).Draw(t, "decoded"))
	}
	list, err := a.List(context.Background(), []string{table.Prefix}, varve.AllTime())
	must(t, err)
	if len(list) != min(1, len(a.want)) {
		t.Fatalf("%d archives of %d readings", len(list), len(a.want))
	}
	return a
}

func (a *archived) remove(t *rapid.T) { must(t, os.RemoveAll(a.root)) }

// genRange draws a range of a series, and returns its readings.
func (a *archived) genRange(t *rapid.T) (store.Range, []varve.Reading) {
	some := &a.want[rapid.IntRange(0, len(a.want)-1).Draw(t, "some")]
	rng := store.Range{Table: table, Series: some.Series, Window: varve.AllTime()}
	if rapid.Bool().Draw(t, "far") {
		rng.Window.To = time.Now().AddDate(292, 0, 0) // later than 64 bits of nanoseconds can express
	} else if rapid.Bool().Draw(t, "window") {
		from := time.Unix(table.Start+rapid.Int64Range(0, 40).Draw(t, "from")*4000, 0)
		rng.Window = varve.Window{From: from, To: from.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "length")) * 4000 * time.Second)}
	}
	if rapid.Bool().Draw(t, "desc") {
		rng.Order = varve.Descending
	}
	if rapid.Bool().Draw(t, "after") {
		at := some.Position()
		if rapid.Bool().Draw(t, "between") {
			at.ID = varve.ID{}
		}
		rng.After = &at
	}
	var want []varve.Reading
	for i := range a.want {
		r := &a.want[i]
		if r.Series != rng.Series || !rng.Window.Contains(r.Time) {
			continue
		}
		if rng.After != nil {
			if c := r.Position().Compare(*rng.After); rng.Order == varve.Ascending && c <= 0 || rng.Order == varve.Descending && c >= 0 {
				continue
			}
		}
		want = append(want, *r)
	}
	slices.SortFunc(want, func(x, y varve.Reading) int {
		c := x.Position().Compare(y.Position())
		if rng.Order == varve.Descending {
			return -c
		}
		return c
	})
	return rng, want
}

func (a *archived) read(rng *store.Range, limit int) (all []varve.Reading, err error) {
	s := a.Open(&a.record, *rng)
	for {
		page, err := s.Next(context.Background(), limit)
		if err != nil {
			return nil, err
		}
		n := 0
		for i := range page.Parts {
			p := &page.Parts[i]
			for k := range p.Len() {
				var r varve.Reading
				p.Fill(p.Row(k), &r)
				all, n = append(all, r), n+1
			}
		}
		if n > limit {
			return nil, fmt.Errorf("a page has %d readings, want at most %d", n, limit)
		}
		if !page.More {
			return all, nil
		}
	}
}

// lines returns readings as text, in their order.
func lines(list []varve.Reading) (all []string) {
	for i := range list {
		all = append(all, texts(list[i:i+1])...)
	}
	return all
}
