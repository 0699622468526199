package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// keyTime is the format of times in keys and attributes. All texts of the years 0 to 9999 have the
// same length, so they sort in the order of their times.
const keyTime = "2006-01-02T15:04:05.000000000Z"

// TimeText formats a time for keys and attributes.
func TimeText(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format(keyTime)
	}
	hour, minute, sec := t.Clock()
	text := []byte("0000-00-00T00:00:00.000000000Z")
	for _, part := range [...]struct{ n, end int }{
		{year, 4}, {int(month), 7}, {day, 10}, {hour, 13}, {minute, 16}, {sec, 19}, {t.Nanosecond(), 29},
	} {
		for n, i := part.n, part.end-1; n > 0; n, i = n/10, i-1 {
			text[i] += byte(n % 10)
		}
	}
	return string(text)
}

// ParseTime parses a text that TimeText formatted.
func ParseTime(text string) (time.Time, error) { return ParseStored(keyTime, text) }

// ParseStored parses a stored time in the given layout. Earlier versions stored times of January 1, 10000:
// clients had sent them as times of 9999 in zones west of UTC. ParseStored returns such a time a day
// earlier, because JSON has no years after 9999.
func ParseStored(layout, text string) (time.Time, error) {
	if clock, ok := strings.CutPrefix(text, "10000-01-01"); ok {
		text = "9999-12-31" + clock
	}
	return time.Parse(layout, text)
}

// TimeValue returns a time as an attribute value.
func TimeValue(t time.Time) varve.Value { return varve.StringValue(TimeText(t)) }

// PutText sets an attribute to a text. It does nothing if the text is empty.
func PutText(attrs map[string]varve.Value, name, text string) {
	if text != "" {
		attrs[name] = varve.StringValue(text)
	}
}

// PutTime sets an attribute to a time. It does nothing if the time is zero.
func PutTime(attrs map[string]varve.Value, name string, t time.Time) {
	if !t.IsZero() {
		attrs[name] = TimeValue(t)
	}
}

// PutValue sets an attribute to a value. It does nothing if the value is zero.
func PutValue(attrs map[string]varve.Value, name string, v varve.Value) {
	if !v.IsZero() {
		attrs[name] = v
	}
}

// Int returns the integer in a value, or 0 if the value is not an integer.
func Int(v varve.Value) int64 {
	n, _ := v.Int()
	return n
}

// Reader decodes the attributes of an item. It records the first error, so callers check Err
// once, after the last attribute.
type Reader struct {
	item *store.Item
	err  error
}

// NewReader returns a reader of an item.
func NewReader(it *store.Item) *Reader { return &Reader{item: it} }

// Text returns the text of an attribute, or "" if the attribute is missing.
func (r *Reader) Text(name string) string { return r.item.Attrs[name].Text() }

// Time returns the time of an attribute, or the zero time if the attribute is missing.
func (r *Reader) Time(name string) time.Time {
	text := r.Text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := ParseTime(text)
	if err != nil {
		r.Fail(name, err)
	}
	return t
}

// Fail records an error about an attribute or a part of the key. Only the first error counts.
func (r *Reader) Fail(name string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("item %s %s: %s: %w", r.item.PK, r.item.SK, name, err)
	}
}

// Err returns the first error of all methods called so far.
func (r *Reader) Err() error { return r.err }
