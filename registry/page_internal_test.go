package registry

import (
	"slices"
	"testing"
)

// FuzzCursor checks that ParseCursor returns an error for invalid texts instead of panicking. It
// must accept only texts that EncodeCursor returns for the same question.
func FuzzCursor(f *testing.F) {
	f.Add(EncodeCursor([]string{"devices", "default", "active"}, "sensor_01"), "active")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, text, status string) {
		question := []string{"devices", "default", status}
		if place, err := ParseCursor(text, question, 1); err == nil {
			if again := EncodeCursor(question, place...); again != text {
				t.Errorf("%q is %q", text, again)
			}
		}
		cursor := EncodeCursor(question, text, status)
		place, err := ParseCursor(cursor, question, 2)
		if err != nil || !slices.Equal(place, []string{text, status}) {
			t.Errorf("%q %q: %v", text, place, err)
		}
		if _, err := ParseCursor(cursor, append(question, ""), 2); err == nil {
			t.Error("valid for another question")
		}
	})
}
