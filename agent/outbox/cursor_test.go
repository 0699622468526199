package outbox_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/outbox"
)

// TestCursor_ReadsEarlierFormat opens an outbox whose file CURSOR has the format of an earlier version. The
// confirmed records must stay confirmed, and no damage may be reported.
func TestCursor_ReadsEarlierFormat(t *testing.T) {
	var e events
	o := outbox.Options{Dir: t.TempDir(), SegmentBytes: 10_000, Keep: time.Hour, Events: e.callbacks()}
	b := open(t, o)
	add(t, b, 0, 100)
	left(t, b)
	closeBox(t, b)
	file := filepath.Join(o.Dir, "CURSOR")
	data := []byte(readFile(t, file))
	data = append([]byte("varve-c2"), data[8:len(data)-4]...)
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file + ".old"); err != nil {
		t.Fatal(err)
	}
	b = open(t, o)
	if s := b.Stats(); s.Readings != 0 || s.KeptReadings != 100 || s.DamagedBytes != 0 || len(e.damage) > 0 {
		t.Errorf("%+v, damage %v, want 100 kept readings", s, e.damage)
	}
}
