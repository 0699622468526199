package local

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// TestCompaction_ReadsChunksOfOneTimeInTurn stores readings of one event time in many chunks, as by a device whose
// clock stands still. A merge must read the chunks of each flush with one cursor, and end with its context.
func TestCompaction_ReadsChunksOfOneTimeInTurn(t *testing.T) {
	const perFlush, flushes = 400, 3
	s := openRepeat(t, vfs.NewMem())
	defer s.Close()
	if err := s.Create(t.Context(), repeatTable, store.Hot); err != nil {
		t.Fatal(err)
	}
	var list []varve.Reading
	for i := range int64(perFlush * flushes / 20) {
		list = append(list, sent(t, "", i)...)
	}
	for part := range slices.Chunk(list, perFlush) {
		expectAll(t, s, "new", part, "stored")
		if err := s.flusher.rotate(); err != nil {
			t.Fatal(err)
		}
		s.compactor.db.opts.MaxLevel0 = 1000 // no merge yet
		if err := s.flusher.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tb := s.mem.tables.byName[repeatTable]
	cr, err := newChunkReader(s.db)
	if err != nil {
		t.Fatal(err)
	}
	defer cr.iter.Close()
	cr.selectSeries(tb, list[0].Series)
	m := compaction{chunkReader: cr, chunkWriter: newChunkWriter(s.catalog, s.db.NewBatch())}
	defer m.batch.Close()
	unit, _, err := m.unit(0)
	if err == nil {
		err = m.readLevel0()
	}
	if err != nil || len(unit) < 10 || len(m.level0) < 20 {
		t.Fatalf("%d chunks in level 1, %d in level 0: %v", len(unit), len(m.level0), err)
	}
	if one, two := len(runsOf(unit)), len(runsOf(m.level0)); one != 1 || two != flushes-1 {
		t.Errorf("%d and %d cursors, want 1 and %d", one, two, flushes-1)
	}
	twice := append(unit, unit...)
	if n := len(runsOf(twice)); n != 2 {
		t.Errorf("%d cursors for chunks with a copy each, want 2", n)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.compactor.compactSeries(canceled, tb, list[0].Series); !errors.Is(err, context.Canceled) {
		t.Errorf("a merge with an ended context: %v", err)
	}
	if err := s.compactor.compactSeries(t.Context(), tb, list[0].Series); err != nil {
		t.Fatal(err)
	}
	expectAll(t, s, "after the merge", list, "duplicate")
	if page, err := s.Read(t.Context(), store.Range{Table: repeatTable, Series: list[0].Series, Window: varve.AllTime(), Limit: 2 * len(list)}, nil); err != nil || len(page.Readings) != len(list) {
		t.Errorf("%d readings after the merge, want %d: %v", len(page.Readings), len(list), err)
	}
}
