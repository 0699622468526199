package parquetfile_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
)

// sparseReading returns reading i of a gateway whose readings have one of n fields each.
func sparseReading(t *testing.T, i, n int) *varve.Reading {
	t.Helper()
	r := varve.Reading{
		Series: varve.Series{Tenant: "a", Stream: "s", Device: "gateway"}, Time: time.Unix(int64(i), 0),
		Fields: []varve.Field{{Name: fmt.Sprintf("tag%07d", i%n), Value: varve.IntValue(int64(i))}},
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		t.Fatal(v)
	}
	return &r
}

// writeSparse writes sparse readings with n fields, and returns the files.
func writeSparse(t *testing.T, readings, n int) (files []parquetfile.File) {
	t.Helper()
	b := parquetfile.NewBuilder(parquetfile.Options{Put: func(f parquetfile.File) error {
		files = append(files, f)
		return nil
	}})
	for i := range readings {
		if err := b.Add(sparseReading(t, i, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReader_BoundsMemoryOfSparseFields reads a row group with 800 fields. Half of them have no column. Each
// reading has one field. Memory must not have room for a value of each field in each row.
func TestReader_BoundsMemoryOfSparseFields(t *testing.T) {
	const rows = 16 << 10
	files := writeSparse(t, rows, 800)
	rd, err := parquetfile.Open(bytes.NewReader(files[0].Body), int64(len(files[0].Body)))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	blocks, err := rd.ReadGroup(0, true)
	runtime.ReadMemStats(&after)
	if err != nil || len(blocks) != 1 || blocks[0].Len() != rows || len(blocks[0].Columns) != 800 {
		t.Fatalf("%d blocks, error %v; want one with %d rows and 800 columns", len(blocks), err, rows)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 150 {
		t.Errorf("reading the row group allocated %d MiB, want at most 150", used)
	}
}

// TestBuilder_BoundsSlotsOfSparseRowGroups writes readings with one of 2000 fields each. A reader needs memory for
// each field in each row, so a row group must have few rows.
func TestBuilder_BoundsSlotsOfSparseRowGroups(t *testing.T) {
	const fields, readings = 2000, 12_000
	rows := int64(0)
	for _, f := range writeSparse(t, readings, fields) {
		for _, g := range f.Groups {
			if rows += g.Readings; g.Readings*fields > 17<<20 {
				t.Errorf("a row group has %d readings with %d fields", g.Readings, fields)
			}
		}
	}
	if rows != readings {
		t.Errorf("%d readings in the files, want %d", rows, readings)
	}
}

// TestBuilder_BoundsFieldsOfRowGroups writes readings with a field of their own each. Each field needs memory in
// the Builder, so a row group must have few fields. No row group may be tiny.
func TestBuilder_BoundsFieldsOfRowGroups(t *testing.T) {
	const readings = 24_000
	var groups []parquetfile.Group
	rows := int64(0)
	for _, f := range writeSparse(t, readings, readings) {
		for _, g := range f.Groups {
			groups, rows = append(groups, g), rows+g.Readings
		}
	}
	for i, g := range groups {
		if g.Readings > 17_000 {
			t.Errorf("row group %d has %d readings with a field each", i, g.Readings)
		}
		if g.Readings < 1000 && i < len(groups)-1 {
			t.Errorf("row group %d of %d has only %d readings", i, len(groups), g.Readings)
		}
	}
	if rows != readings {
		t.Errorf("%d readings in the files, want %d", rows, readings)
	}
}

// groupMemory returns the bytes that the first row group uses once it is decoded. Other memory, such as
// pools, can be counted too, so it returns the smallest of several results.
func groupMemory(t *testing.T, rd *parquetfile.Reader) (least int64) {
	t.Helper()
	least = math.MaxInt64
	for range 3 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // the second one frees what pools kept during the first
		runtime.ReadMemStats(&before)
		blocks, err := rd.ReadGroup(0, true)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		least = min(least, int64(after.HeapAlloc)-int64(before.HeapAlloc))
		runtime.KeepAlive(blocks)
	}
	return least
}

// TestReader_CountsSlotsInGroupBytes compares GroupBytes with the memory of a decoded row group. GroupBytes
// must be at least 90 % of it. Each reading has one of many fields. Above 400, some fields have no column.
func TestReader_CountsSlotsInGroupBytes(t *testing.T) {
	for _, fields := range []int{300, 1000} {
		const rows = 8 << 10
		files := writeSparse(t, rows, fields)
		rd, err := parquetfile.Open(bytes.NewReader(files[0].Body), int64(len(files[0].Body)))
		if err != nil {
			t.Fatal(err)
		}
		used, counted := groupMemory(t, rd), rd.GroupBytes(0)
		if counted < used*9/10 {
			t.Errorf("%d fields: GroupBytes is %d KiB, and the row group uses %d KiB", fields, counted>>10, used>>10)
		}
		if most := 16 * (2<<20 + int64(rows*fields)); counted > most {
			t.Errorf("%d fields: GroupBytes is %d KiB, want at most %d KiB", fields, counted>>10, most>>10)
		}
	}
}
