package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestWrite_FillsMemtable fills a memtable of the usual size with readings that consist mostly of their
// bodies. They must have the same values while they are in memory and after a restart, which makes
// chunks of them.
func TestWrite_FillsMemtable(t *testing.T) {
	const devices, each, length = 40, 3000, 500 // about 60 MB of bodies
	o := local.Options{Dir: t.TempDir(), MinFree: -1}
	s, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	in := week(t, 0)
	if err := s.Create(t.Context(), in, store.Hot); err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", length)
	text := func(device string, i int) string { return fmt.Sprint(device, "/", i, pad) }
	lists := map[string][]varve.Reading{}
	for d := range devices {
		name := fmt.Sprint("d", d)
		lists[name] = readings(t, in, name, each)
		for i := range lists[name] {
			lists[name][i].Fields = []varve.Field{{Name: "s", Value: varve.StringValue(text(name, i))}}
		}
	}
	for from := 0; from < each; from += 20 {
		for _, list := range lists {
			write(t, s, in, list[from:from+20], varve.Stored)
		}
	}
	check := func(when string) {
		t.Helper()
		for name := range lists {
			got := all(t, s, in, name)
			if len(got) != each {
				t.Fatalf("%s, %s has %d readings, want %d", when, name, len(got), each)
			}
			for i := range got {
				if s := got[i].Fields[0].Value.Text(); s != text(name, i) {
					t.Fatalf("%s, reading %d of %s is %.20q", when, i, name, s)
				}
			}
		}
	}
	check("in memory")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = local.Open(o); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	check("after a restart")
}

// TestOpen_LimitsMemtable checks that a memtable cannot become larger than its offsets permit.
func TestOpen_LimitsMemtable(t *testing.T) {
	_, err := local.Open(local.Options{Dir: t.TempDir(), MemtableBytes: local.MaxMemtableBytes + 1})
	if varve.FailureOf(err) != varve.Invalid {
		t.Errorf("%v, want Invalid", err)
	}
}
