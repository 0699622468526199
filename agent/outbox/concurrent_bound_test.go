package outbox_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/varvedb/varve/agent/outbox"
)

// TestAppend_RefusesConcurrentRecordsAboveBound appends records from many goroutines at the same time. The
// outbox must not exceed its bound.
func TestAppend_RefusesConcurrentRecordsAboveBound(t *testing.T) {
	b, err := outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: 4 << 20, Full: outbox.RefuseNewest})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			// Most records are refused.
			_ = b.Append(t.Context(), []outbox.Record{{Stream: "s", Readings: 1, Lines: bytes.Repeat([]byte("x"), 200<<10)}})
		})
	}
	wg.Wait()
	if got := b.Stats().Bytes; got > b.MaxBytes() {
		t.Errorf("the outbox has %d bytes, the bound is %d", got, b.MaxBytes())
	}
}
