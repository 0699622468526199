package query_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

func invalidCursor(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Invalid && e.Param == "cursor"
}

// TestCursor_RoundTrips checks that a cursor preserves nanoseconds and any id, and needs no
// escaping in a URL.
func TestCursor_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := func(label string) time.Time { return time.Unix(0, rapid.Int64Min(0).Draw(t, label)).UTC() }
		c := query.Cursor{
			Window: varve.Window{From: at("from"), To: at("to")},
			After:  varve.Position{Time: rapid.Int64Min(0).Draw(t, "at"), ID: varve.HashID(rapid.Uint64().Draw(t, "hash"))},
		}
		if id, err := varve.ParseID(rapid.StringN(1, 64, 64).Draw(t, "id")); err == nil {
			c.After.ID = id
		}
		text := c.Encode(device("a"), varve.Descending, "-1d", "now")
		if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("%s cannot stand in an address", text)
		}
		got, err := query.ParseCursor(text, device("a"), varve.Descending, "-1d", "now")
		if err != nil || got != c {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, c)
		}
	})
}

// TestCursor_KeepsWindow encodes and parses windows that have all event times. The parsed windows must
// still contain the first and the last valid event time.
func TestCursor_KeepsWindow(t *testing.T) {
	for _, w := range []varve.Window{
		varve.AllTime(),
		{From: time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		c := query.Cursor{Window: w, After: varve.Position{ID: varve.HashID(1)}}
		got, err := query.ParseCursor(c.Encode(device("a"), 0, "", ""), device("a"), 0, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{time.Unix(0, 0), time.Unix(0, math.MaxInt64-1)} {
			if !got.Window.Contains(at) {
				t.Errorf("%v became %v, without %s", w, got.Window, at)
			}
		}
	}
}

// TestParseCursor_RefusesOtherQuery checks the errors for a cursor of another query, and for texts that are
// not cursors.
func TestParseCursor_RefusesOtherQuery(t *testing.T) {
	c := query.Cursor{Window: varve.AllTime(), After: varve.Position{Time: 5, ID: varve.HashID(1)}}
	text := c.Encode(device("a"), varve.Ascending, "x", "y")
	other := device("a")
	other.Tenant = "acme"
	stream := device("a")
	stream.Stream = "weathera"
	for name, parse := range map[string]func() (query.Cursor, error){
		"device":    func() (query.Cursor, error) { return query.ParseCursor(text, device("b"), varve.Ascending, "x", "y") },
		"tenant":    func() (query.Cursor, error) { return query.ParseCursor(text, other, varve.Ascending, "x", "y") },
		"stream":    func() (query.Cursor, error) { return query.ParseCursor(text, stream, varve.Ascending, "x", "y") },
		"order":     func() (query.Cursor, error) { return query.ParseCursor(text, device("a"), varve.Descending, "x", "y") },
		"from":      func() (query.Cursor, error) { return query.ParseCursor(text, device("a"), varve.Ascending, "", "y") },
		"to":        func() (query.Cursor, error) { return query.ParseCursor(text, device("a"), varve.Ascending, "x", "z") },
		"boundary":  func() (query.Cursor, error) { return query.ParseCursor(text, device("a"), varve.Ascending, "xy", "") },
		"boundary2": func() (query.Cursor, error) { return query.ParseCursor(text, device("aasc"), 0, "x", "y") },
	} {
		if _, err := parse(); !invalidCursor(err) || !strings.Contains(err.Error(), "another query") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for _, bad := range []string{"", "A", "!", "AQ", text[:9], text[:len(text)-8], text + "=", text + "AA", " " + text, text[:20] + "x" + text[21:], "Ag" + text[2:]} {
		if _, err := query.ParseCursor(bad, device("a"), varve.Ascending, "x", "y"); !invalidCursor(err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzCursor parses random texts, and cursors with random contents and a valid checksum. The parser
// must never panic, and must fail only with Invalid. A parsed cursor must have the same position when
// it is encoded and parsed once more. It must also have the same window, unless that begins or ends
// before 1970.
func FuzzCursor(f *testing.F) {
	for _, c := range []query.Cursor{
		{Window: varve.AllTime(), After: varve.Position{Time: 1, ID: varve.HashID(1)}},
		{Window: varve.Window{From: start, To: start.Add(time.Hour)}, After: varve.Position{Time: start.UnixNano(), ID: varve.HashID(math.MaxUint64)}},
	} {
		text := c.Encode(device("a"), varve.Ascending, "", "")
		f.Add(text, "a")
		raw, _ := base64.RawURLEncoding.DecodeString(text)
		f.Add(string(raw[9:len(raw)-4]), "b")
	}
	f.Add("", "")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00id", "a")
	f.Add("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "a")
	f.Fuzz(func(t *testing.T, text, dev string) {
		s := device(dev)
		some := query.Cursor{Window: varve.AllTime(), After: varve.Position{ID: varve.HashID(0)}}
		head, err := base64.RawURLEncoding.DecodeString(some.Encode(s, varve.Ascending, "", ""))
		if err != nil {
			t.Fatal(err)
		}
		body := append(head[:9:9], text...)
		body = binary.LittleEndian.AppendUint32(body, crc32.ChecksumIEEE(body))
		for _, try := range []string{text, base64.RawURLEncoding.EncodeToString(body)} {
			c, err := query.ParseCursor(try, s, varve.Ascending, "", "")
			if err != nil {
				if !invalidCursor(err) {
					t.Fatalf("%q: %v", try, err)
				}
				continue
			}
			if c.After.ID.IsZero() {
				t.Fatalf("%q has no id", try)
			}
			again, err := query.ParseCursor(c.Encode(s, varve.Ascending, "", ""), s, varve.Ascending, "", "")
			if err != nil || again.After != c.After {
				t.Fatalf("%q: %+v became %+v, %v", try, c, again, err)
			}
			if c.Window.From.UnixNano() >= 0 && c.Window.To.UnixNano() >= 0 && again != c {
				t.Fatalf("%q: %+v became %+v", try, c, again)
			}
		}
	})
}
