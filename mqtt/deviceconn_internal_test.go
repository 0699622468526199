package mqtt

import (
	"strings"
	"testing"
)

// TestFraming_FindsLongPackets scans packets in pieces of each length. The result must not depend on the
// length.
func TestFraming_FindsLongPackets(t *testing.T) {
	const limit = 200
	ping, fits := "\xc0\x00", "\x30\xc8\x01"+strings.Repeat("\xff", 200)
	for _, c := range []struct {
		stream string
		legal  int // number of bytes before the last byte of a long packet's header; without a long packet, all bytes
		isLong bool
	}{
		{ping + fits + ping, 207, false},
		{"\x30\xc9\x01", 2, true},
		{ping + fits + "\x30\xc9\x01\xff", 207, true},
		{"\x30\xff\xff\xff\x7f", 4, true},
		{"\x30\xff", 2, false},
	} {
		for size := 1; size <= len(c.stream); size++ {
			var f framing
			legal, ok := 0, true
			for at := 0; at < len(c.stream) && ok; at += size {
				var n int
				n, ok = f.scan([]byte(c.stream[at:min(at+size, len(c.stream))]), limit)
				legal += n
			}
			if legal != c.legal || ok == c.isLong {
				t.Errorf("%.20q in pieces of %d: %d bytes, long %t, want %d, %t", c.stream, size, legal, !ok, c.legal, c.isLong)
			}
		}
	}
}
