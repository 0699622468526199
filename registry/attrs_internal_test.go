package registry

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimeText_HasTheLayoutOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-1e11, 3e11).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		if got, want := TimeText(at), at.UTC().Format(keyTime); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
