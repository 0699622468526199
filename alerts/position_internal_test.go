package alerts

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

func TestPositionText_HasHexTimeOfFixedWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := varve.Position{Time: rapid.Int64Range(math.MinInt64, math.MaxInt64).Draw(t, "time"), ID: varve.HashID(rapid.Uint64().Draw(t, "id") >> 2)}
		if got, want := positionText(p), fmt.Sprintf("%016x#%s", p.Time, p.ID); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if back, err := parsePosition(positionText(p)); err != nil || back != p {
			t.Errorf("parsed %v, want %v: %v", back, p, err)
		}
	})
}

// FuzzParsePosition checks that a parsed position since 1970 does not change if it is encoded and
// parsed once more.
func FuzzParsePosition(f *testing.F) {
	f.Add("18e921e6a64b4a00#86TY4Ydd4_I")
	f.Add("0#")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		if err != nil {
			return
		}
		again, err := parsePosition(positionText(p))
		if p.Time >= 0 && (err != nil || again != p) {
			t.Errorf("%q: %v is %v, %v", text, p, again, err)
		}
	})
}
