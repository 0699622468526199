package wire

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestDayParser_AgreesWithTimeFormat parses written times of several days, and texts with one changed
// byte. The parser must return the time that TimeFormat returns, or false.
func TestDayParser_AgreesWithTimeFormat(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var p dayParser
	var f TimeFormat
	for range 20_000 {
		at := time.Unix(rng.Int64N(5*86_400)+951_700_000, rng.Int64N(1e9)).UTC() // the end of February 2000
		at = at.Truncate([]time.Duration{1, 1e3, 1e5, 1e6, 1e9}[rng.IntN(5)])
		text := AppendTime(nil, at)
		if got, ok := p.parse(text); !ok || got != at {
			t.Fatalf("%s: %v, %t", text, got, ok)
		}
		text[rng.IntN(len(text))] = "0123456789TZ:-. /"[rng.IntN(17)]
		want, v := f.Parse(string(text))
		if got, ok := p.parse(text); ok && (v.Outcome != 0 || got != want) {
			t.Fatalf("%s: %v, want %v %s", text, got, want, v)
		}
	}
	p = dayParser{}
	for _, text := range []string{"1969-12-31T23:59:59Z", "2262-04-12T00:00:00Z", "2026-02-29T00:00:00Z", "2026-04-20T24:00:00Z", "2026-04-20T10:00:60Z",
		"2026-04-20T10:00:00.Z", "2026-04-20T10:00:00.1234567891Z", "2026-04-20T10:00:00", "2026-04-20T10:00Z", "", "0000-00-00T00:00:00Z", string(make([]byte, 10)) + "T00:00:00Z"} {
		if got, ok := p.parse([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
