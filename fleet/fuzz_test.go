package fleet

import (
	"slices"
	"testing"
)

// FuzzCursor: no text breaks the parser, what it takes is what was written, and
// what it takes is good for one question only.
func FuzzCursor(f *testing.F) {
	f.Add(encodeCursor([]string{"devices", "default", "active"}, "sensor_01"), "active")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, text, status string) {
		question := []string{"devices", "default", status}
		if place, err := parseCursor(text, question, 1); err == nil {
			if again := encodeCursor(question, place...); again != text {
				t.Errorf("%q is %q", text, again)
			}
		}
		cursor := encodeCursor(question, text, status)
		place, err := parseCursor(cursor, question, 2)
		if err != nil || !slices.Equal(place, []string{text, status}) {
			t.Errorf("%q %q: %v", text, place, err)
		}
		if _, err := parseCursor(cursor, append(question, ""), 2); err == nil {
			t.Error("it is good for another question")
		}
	})
}

// FuzzPosition: places in notes come back as they were, and sort as they are.
func FuzzPosition(f *testing.F) {
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
