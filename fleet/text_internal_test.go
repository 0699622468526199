package fleet

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

func TestTimeText_HasTheLayoutOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-1e11, 3e11).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		if got, want := timeText(at), at.UTC().Format(keyTime); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

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
