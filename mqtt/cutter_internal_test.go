package mqtt

import (
	"bufio"
	"errors"
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

// TestCutter_DropsPropertiesOfLongMessages checks that a long message of MQTT 5 loses its properties, and that its
// payload is cut only if it is longer than the limit without them.
func TestCutter_DropsPropertiesOfLongMessages(t *testing.T) {
	p, x := strings.Repeat("p", 250), strings.Repeat("x", 300)
	for _, c := range []struct{ sent, want string }{
		{"\x30\x85\x02\x00\x01t\xfa\x01" + p + "t=21.5\xd0\x00", "\x30\x0a\x00\x01t\x00t=21.5\xd0\x00"},
		{"\x32\x87\x02\x00\x01t\x00\x07\xfa\x01" + p + "t=21.5\xd0\x00", "\x32\x0c\x00\x01t\x00\x07\x00t=21.5\xd0\x00"},
		{"\x30\xab\x04\x00\x01t\xfa\x01" + p + x + "\xd0\x00", "\x30\xc8\x01\x00\x01t\x00" + x[:196] + "\xd0\x00"},
		{"\x30\xb0\x02\x00\x01t\x00" + x + "\xd0\x00", "\x30\xc8\x01\x00\x01t\x00" + x[:196] + "\xd0\x00"},
		{"\x30\x07\x00\x01t\x01pt=", "\x30\x07\x00\x01t\x01pt="},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.sent), iotest.OneByteReader(strings.NewReader(c.sent))} {
			got, err := io.ReadAll(&cutter{in: bufio.NewReader(in), isV5: true, limit: 200})
			if string(got) != c.want || err != nil {
				t.Errorf("%q became %q, %v, want %q", c.sent, got, err, c.want)
			}
		}
	}
	for _, bad := range []string{"\x30\xac\x02\xff\xff" + x, "\x30\xac\x02\x00\x01t\xff\x7f" + x} {
		if got, err := io.ReadAll(&cutter{in: bufio.NewReader(strings.NewReader(bad)), isV5: true, limit: 200}); !errors.Is(err, errMalformed) {
			t.Errorf("%q became %q, %v, want %v", bad, got, err, errMalformed)
		}
	}
}
