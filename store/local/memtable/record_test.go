package memtable

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
)

// TestUnpack_RestoresRecords checks that unpack returns the content of a record from its payload, and that
// a large payload is compressed.
func TestUnpack_RestoresRecords(t *testing.T) {
	var rec Record
	for _, size := range []int{0, 1, packFrom - 1, packFrom, 100_000, 3} {
		rec.Begin(1)
		for i := 0; len(rec.buf) < 1+size; i++ {
			rec.buf = append(rec.buf, fmt.Sprintf("device-%04d", i)...)
		}
		rec.buf = rec.buf[:1+size]
		payload := bytes.Clone(rec.Payload())
		if len(payload) > 1+size || size >= 100_000 && len(payload) > size/2 {
			t.Errorf("the payload of %d bytes has %d", size, len(payload))
		}
		data, single, err := unpack(payload)
		if err != nil || single || !bytes.Equal(data, rec.buf[1:]) {
			t.Errorf("a payload of %d bytes became %d bytes: %v", size, len(data), err)
		}
	}
}

// TestUnpack_RefusesOthers checks that a payload without a known form is refused. A payload that
// claims a huge size is refused before memory is allocated.
func TestUnpack_RefusesOthers(t *testing.T) {
	whole := append([]byte{packedVersion}, s2.Encode(nil, make([]byte, 5000))...)
	huge := []byte{packedVersion, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, payload := range [][]byte{nil, {0}, {5, 1}, {packedVersion}, whole[:len(whole)-1], huge} {
		if data, _, err := unpack(payload); !errors.Is(err, ErrBody) {
			t.Errorf("%x: %d bytes, %v", payload[:min(len(payload), 8)], len(data), err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}
