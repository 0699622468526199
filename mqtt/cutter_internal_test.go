package mqtt

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCutter_CutsLongMessages checks that only messages are cut, and that the packets after them are read.
func TestCutter_CutsLongMessages(t *testing.T) {
	x, y := strings.Repeat("x", 300), strings.Repeat("y", 200)
	for _, c := range []struct{ sent, want string }{
		{"\xd0\x00\x20\x02\x00\x00", "\xd0\x00\x20\x02\x00\x00"},
		{"\x32\xc8\x01" + y + "\xd0\x00", "\x32\xc8\x01" + y + "\xd0\x00"},
		{"\x32\xac\x02" + x + "\xd0\x00", "\x32\xc8\x01" + x[:200] + "\xd0\x00"},
		{"\x90\xac\x02" + x + "\xd0\x00", "\x90\xac\x02" + x + "\xd0\x00"},
		{"\x32\xac\x02" + x + "\x32\xac\x02" + x, "\x32\xc8\x01" + x[:200] + "\x32\xc8\x01" + x[:200]},
		{"\xd0\xff\xff\xff\xff\x01", "\xd0\xff\xff\xff\xff\x01"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.sent), iotest.OneByteReader(strings.NewReader(c.sent))} {
			got, err := io.ReadAll(&cutter{in: bufio.NewReader(in), limit: 200})
			if string(got) != c.want || err != nil {
				t.Errorf("%q became %q, %v, want %q", c.sent, got, err, c.want)
			}
		}
	}
}
