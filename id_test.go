package varve_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestContentID_MatchesVectors compares content ids with hashes of canonical forms that are written
// by hand. Content ids must never change, because stores contain them and compare them with the ids
// of retries.
func TestContentID_MatchesVectors(t *testing.T) {
	long := strings.Repeat("n", 128)
	tests := []struct {
		reason string
		fields []varve.Field
		form   string // the canonical form, whose XXH64 hash is the id
		id     string
	}{
		{"an integer: exponent 0, coefficient 45", []varve.Field{field("h", num(t, "45"))}, "\x01hn\x00\x2d\x00", "08vcFaZS6B3"},
		{"a decimal: 2·(-1) is 3 in zigzag", []varve.Field{field("t", num(t, "22.4"))}, "\x01tn\x03\xe0\x01\x00", "AK_KzUlQ4Yd"},
		{"a negative one: 2·(-1)+1 is 1 in zigzag", []varve.Field{field("t", num(t, "-22.4"))}, "\x01tn\x01\xe0\x01\x00", "AKGEYHTDPBc"},
		{"a negative integer: 2·0+1 is 2 in zigzag", []varve.Field{field("t", num(t, "-7"))}, "\x01tn\x02\x07\x00", "5h8a5I0QpvN"},
		{"zero, however it is written", []varve.Field{field("x", num(t, "-0.00"))}, "\x01xn\x00\x00\x00", "7y94cDzrK7C"},
		{"zeros go into the exponent: 2·3 is 12 in zigzag", []varve.Field{field("x", num(t, "5000"))}, "\x01xn\x0c\x05\x00", "7ihvJDQFujl"},
		{"an exponent of two bytes: 2·100 is 400 in zigzag", []varve.Field{field("x", num(t, "1e100"))}, "\x01xn\x90\x03\x01\x00", "9T2WcqaFGOm"},
		{"three bytes: 1<<14", []varve.Field{field("x", num(t, "16384"))}, "\x01xn\x00\x80\x80\x01\x00", "9GcXGs5qFrg"},
		{"two bytes: 1<<14 - 1", []varve.Field{field("x", num(t, "16383"))}, "\x01xn\x00\xff\x7f\x00", "0aXYHbJP3bh"},
		{"2^64 + 1: the low and the high half", []varve.Field{field("x", num(t, "18446744073709551617"))}, "\x01xn\x00\x01\x01", "-U76MgZf2ZA"},
		{"a string", []varve.Field{field("s", text("on"))}, "\x01ss\x02on", "88KZcELryD0"},
		{"an empty string", []varve.Field{field("s", text(""))}, "\x01ss\x00", "5uHrx5tczgX"},
		{"a string of 128 bytes: a length of two", []varve.Field{field("s", text(long))}, "\x01ss\x80\x01" + long, "5sWgzG_-6VU"},
		{"true", []varve.Field{field("b", varve.BoolValue(true))}, "\x01bt", "DECcYnYfVI-"},
		{"false", []varve.Field{field("b", varve.BoolValue(false))}, "\x01bf", "4oFFH0g3KY6"},
		{"JSON", []varve.Field{field("m", jsonValue(t, `{"b":1.0,"a":[]}`))}, "\x01mj\x0e" + `{"a":[],"b":1}`, "6BPuiKl_Q4m"},
		{"a name of two bytes", []varve.Field{field("é", num(t, "1"))}, "\x02\xc3\xa9n\x00\x01\x00", "Dq9oHjNRAo-"},
		{"a name of 128 bytes: a length of two", []varve.Field{field(long, varve.BoolValue(true))}, "\x80\x01" + long + "t", "2KJq36_jLz6"},
		{"two fields", []varve.Field{field("a", text("1")), field("b", text("23"))}, "\x01as\x011\x01bs\x0223", "0eoOjX2FDjB"},
		{"the same letters, shared out otherwise", []varve.Field{field("a", text("12")), field("b", text("3"))}, "\x01as\x0212\x01bs\x013", "AmjuEtJyP-g"},
		{"fields in the order of their names", []varve.Field{field("temperature", num(t, "22.4")), field("humidity", num(t, "45")), field("ok", varve.BoolValue(true))},
			"\x08humidityn\x00\x2d\x00\x02okt\x0btemperaturen\x03\xe0\x01\x00", "D9ihDnLG4Yt"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := varve.HashID(xxhash.Sum64String(tt.form)).String(); got != tt.id {
				t.Errorf("the form %q has the id %s, want %s", tt.form, got, tt.id)
			}
			if got := contentID(t, tt.fields...).String(); got != tt.id {
				t.Errorf("the fields have the id %s, want %s", got, tt.id)
			}
		})
	}
}

// TestHashID_SortsAndParses checks the texts of some hashes, and that Hash returns each hash. The
// hashes and the expected texts are in ascending order.
func TestHashID_SortsAndParses(t *testing.T) {
	tests := []struct {
		hash uint64
		want string
	}{
		{0, "-----------"},
		{1, "----------0"},
		{63, "----------z"},
		{64, "---------0-"},
		{1 << 63, "7----------"},
		{math.MaxUint64, "Ezzzzzzzzzz"},
	}
	for _, tt := range tests {
		id := varve.HashID(tt.hash)
		if got := id.String(); got != tt.want {
			t.Errorf("%d is written %s, want %s", tt.hash, got, tt.want)
		}
		if got := string(id.Append([]byte("#"))); got != "#"+tt.want {
			t.Errorf("%d is appended as %s", tt.hash, got)
		}
		if hash, ok := id.Hash(); !ok || hash != tt.hash || id.IsZero() {
			t.Errorf("%d comes back as %d, %t", tt.hash, hash, ok)
		}
	}
}

func TestParseID_AcceptsPrintableText(t *testing.T) {
	tests := []struct {
		reason, in string
		ok, hash   bool
	}{
		{"one byte", "a", true, false},
		{"64 bytes", strings.Repeat("a", 64), true, false},
		{"65 bytes", strings.Repeat("a", 65), false, false},
		{"64 bytes of characters", strings.Repeat("é", 32), true, false},
		{"33 characters of two bytes", strings.Repeat("é", 33), false, false},
		{"empty", "", false, false},
		{"a blank inside", "batch 7", true, false},
		{"a blank before", " a", false, false},
		{"a blank behind", "a ", false, false},
		{"a line break", "a\nb", false, false},
		{"a zero byte", "a\x00b", false, false},
		{"a byte that is not UTF-8", "a\xff", false, false},
		{"other punctuation", "a/b#c:d", true, false},
		{"a hash's text", "08vcFaZS6B3", true, true},
		{"the largest hash's text", "Ezzzzzzzzzz", true, true},
		{"one larger than any hash", "F----------", true, false},
		{"a character too few", "08vcFaZS6B", true, false},
		{"a character too many", "08vcFaZS6B33", true, false},
		{"a character that no hash has", "08vcFaZS6B.", true, false},
		{"a first character that no hash has", ".8vcFaZS6B3", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			id, err := varve.ParseID(tt.in)
			if (err == nil) != tt.ok || id.IsZero() == tt.ok {
				t.Fatalf("got %q, %v, want ok %t", id, err, tt.ok)
			}
			if _, hash := id.Hash(); hash != tt.hash || tt.ok && id.String() != tt.in {
				t.Errorf("got %q, a hash: %t, want a hash: %t", id, hash, tt.hash)
			}
		})
	}
	if id := (varve.ID{}); !id.IsZero() || id.String() != "" || len(id.Append(nil)) != 0 {
		t.Errorf("no id is written %q", id)
	}
}

// genID generates ids: the zero ID, hashes, texts, and texts that look like hashes.
func genID() *rapid.Generator[varve.ID] {
	return rapid.Custom(func(t *rapid.T) varve.ID {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return varve.ID{}
		case 1:
			return varve.HashID(rapid.Uint64().Draw(t, "hash"))
		case 2:
			return varve.HashID(uint64(rapid.IntRange(0, 3).Draw(t, "small hash")))
		}
		id, err := varve.ParseID(rapid.StringMatching(`[-0-9A-Za-z_]{11}|[!-~]{1,12}|-{10}[-0-9]`).Draw(t, "text"))
		if err != nil {
			t.Fatalf("id: %v", err)
		}
		return id
	})
}

// TestID_ComparesLikeItsText checks that ids are equal and ordered as their texts are, and that
// parsing the text returns the id.
func TestID_ComparesLikeItsText(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		a, b := genID().Draw(t, "a"), genID().Draw(t, "b")
		if got, want := a.Compare(b), strings.Compare(a.String(), b.String()); got != want {
			t.Fatalf("Compare(%q, %q) is %d, want %d", a, b, got, want)
		}
		if (a == b) != (a.String() == b.String()) {
			t.Fatalf("%q == %q is %t", a, b, a == b)
		}
		if a.IsZero() {
			return
		}
		if back, err := varve.ParseID(a.String()); err != nil || back != a {
			t.Fatalf("%q reads back as %q, %v", a, back, err)
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"", "a", "08vcFaZS6B3", "Ezzzzzzzzzz", "F----------", strings.Repeat("a", 65), " a", "\xff", "a\u200bb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := varve.ParseID(text)
		if err != nil {
			if !id.IsZero() {
				t.Fatalf("%q: an id and %v", text, err)
			}
			return
		}
		if id.String() != text || len(text) > varve.MaxIDBytes || !utf8.ValidString(text) || strings.TrimSpace(text) != text {
			t.Fatalf("%q is taken as %q", text, id)
		}
	})
}
