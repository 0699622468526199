package varve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

func nested(open, inner, closing string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
}

func TestJSONValue_ReturnsCanonicalForm(t *testing.T) {
	tests := []struct {
		reason, in, want string
	}{
		{"an empty object", `{}`, `{}`},
		{"an empty array", `[]`, `[]`},
		{"white space", " \t\r\n{ \"a\" :\t[ 1 ,\n2 ] } \n", `{"a":[1,2]}`},
		{"members are sorted", `{"b":1,"a":2,"c":3}`, `{"a":2,"b":1,"c":3}`},
		{"by their bytes, capitals first", `{"a":1,"B":2,"é":3,"aa":4,"":5}`, `{"":5,"B":2,"a":1,"aa":4,"é":3}`},
		{"members of members are sorted", `[{"y":{"d":1,"c":2},"x":0}]`, `[{"x":0,"y":{"c":2,"d":1}}]`},
		{"an array keeps its order", `[3,1,2,1]`, `[3,1,2,1]`},
		{"numbers without zeros", `[42.0, 1.50, 100, 1e2, 4200E-2]`, `[42,1.5,100,100,42]`},
		{"there is one zero", `[0, -0, 0.00, 0e5, -0e-5]`, `[0,0,0,0,0]`},
		{"38 digits", `[` + nines(38) + `]`, `[` + nines(38) + `]`},
		{"numbers that a float cannot hold", `[9007199254740993, 0.1000000000000000055511151231257827]`, `[9007199254740993,0.1000000000000000055511151231257827]`},
		{"null, true, false", `{"n":null,"t":true,"f":false}`, `{"f":false,"n":null,"t":true}`},
		{"strings that look like more", `["1.0","null","{}"]`, `["1.0","null","{}"]`},
		{"escapes that need not be", `["\u0061\/\u00e9\ud83d\ude00"]`, `["a/é😀"]`},
		{"escapes that must be", `["\"\\\n\u0000\u001f"]`, `["\"\\\n\u0000\u001f"]`},
		{"escapes in names", `{"\u0062":1,"a\n":2}`, `{"a\n":2,"b":1}`},
		{"nothing is escaped for HTML", `["<a href='x'>&</a>"]`, `["<a href='x'>&</a>"]`},
		{"arrays 16 deep", nested("[", "", "]", 16), nested("[", "", "]", 16)},
		{"a value in arrays 16 deep", nested("[", "1.0", "]", 16), nested("[", "1", "]", 16)},
		{"objects 16 deep", nested(`{"a":`, "null", "}", 16), nested(`{"a":`, "null", "}", 16)},
		{"both, 16 deep", nested(`{"a":[`, "", "]}", 8), nested(`{"a":[`, "", "]}", 8)},
		{"depth is not size", `[` + strings.Repeat("[[]],", 100) + `1]`, `[` + strings.Repeat("[[]],", 100) + `1]`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			v := jsonValue(t, tt.in)
			if v.Kind() != varve.KindJSON || v.Text() != tt.want {
				t.Errorf("got %s %s, want %s", v.Kind(), v.Text(), tt.want)
			}
			if again := jsonValue(t, v.Text()); !again.Equal(v) {
				t.Errorf("the canonical form becomes %s", again.Text())
			}
		})
	}
}

var refusedJSON = []struct {
	reason, in string
	want       string // a part of the message
}{
	{"nothing", ``, "cut short"},
	{"white space", " \n", "cut short"},
	{"a number", `42`, "not a JSON object or array"},
	{"a string", `"{}"`, "not a JSON object or array"},
	{"true", `true`, "not a JSON object or array"},
	{"null", `null`, "not a JSON object or array"},
	{"no JSON at all", `sensor`, ""},
	{"a member twice", `{"a":1,"b":2,"a":1}`, `member "a" occurs twice`},
	{"a member twice, once in escapes", `{"a":1,"\u0061":2}`, `member "a" occurs twice`},
	{"a member twice, deep inside", `[{"x":{"k":1,"k":1}}]`, `member "k" occurs twice`},
	{"39 digits", `[` + nines(39) + `]`, decimal.ErrPrecision.Error()},
	{"out of range", `{"a":1e126}`, decimal.ErrRange.Error()},
	{"arrays 17 deep", nested("[", "", "]", 17), "nested deeper than 16"},
	{"objects 17 deep", nested(`{"a":`, "1", "}", 17), "nested deeper than 16"},
	{"both, 18 deep", nested(`{"a":[`, "", "]}", 9), "nested deeper than 16"},
	{"deep enough to fill a stack", strings.Repeat("[", 1_000_000), "nested deeper than 16"},
	{"a second value", `{}{}`, "more follows"},
	{"a bracket too many", `[]]`, "more follows"},
	{"a comma after all", `[],`, "more follows"},
	{"words after all", `{} and more`, "more follows"},
	{"a zero byte after all", "{}\x00", "more follows"},
	{"a comma too many in an array", `[1,]`, ""},
	{"a comma too many in an object", `{"a":1,}`, ""},
	{"a comma too few", `[1 2]`, ""},
	{"a colon too few", `{"a" 1}`, ""},
	{"a comma for a colon", `{"a",1}`, ""},
	{"a name that is no string", `{1:2}`, ""},
	{"a name without quotes", `{a:1}`, ""},
	{"single quotes", `{'a':1}`, ""},
	{"brackets that do not match", `[1}`, ""},
	{"braces that do not match", `{"a":1]`, ""},
	{"a leading zero", `[01]`, ""},
	{"a bare point", `[1.]`, ""},
	{"a plus", `[+1]`, ""},
	{"NaN", `[NaN]`, ""},
	{"Infinity", `[-Infinity]`, ""},
	{"hexadecimal", `[0x1]`, ""},
	{"True", `[True]`, ""},
	{"a comment", `[1 /* one */]`, ""},
	{"an escape there is not", `["\x41"]`, ""},
	{"a line break in a string", "[\"\n\"]", ""},
	{"a byte order mark", "\ufeff{}", ""},
	{"bytes that are not UTF-8", "[\"\xff\"]", ""},
	{"a name that is not UTF-8", "{\"\xff\":1}", ""},
}

func TestJSONValue_RejectsInvalidText(t *testing.T) {
	for _, tt := range refusedJSON {
		t.Run(tt.reason, func(t *testing.T) {
			v, err := varve.JSONValue([]byte(tt.in))
			if err == nil {
				t.Fatalf("taken as %q", v.Text())
			}
			if !v.IsZero() || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %q", v, err, tt.want)
			}
		})
	}
	if _, err := varve.JSONValue([]byte(`[1e126]`)); !errors.Is(err, decimal.ErrRange) {
		t.Errorf("got %v, want one that is %v", err, decimal.ErrRange)
	}
}

// TestJSONValue_RejectsTruncatedText checks that each proper prefix of a JSON text is rejected.
func TestJSONValue_RejectsTruncatedText(t *testing.T) {
	const text = `{"a":[1.5,"x\u0061",{"b":null}],"c":true,"d":{},"é":-2e-3}`
	jsonValue(t, text)
	for i := range text {
		if v, err := varve.JSONValue([]byte(text[:i])); err == nil {
			t.Errorf("%s is taken as %s", text[:i], v)
		}
	}
}

// tree is a JSON value that can be written in several notations.
type tree struct {
	leaf    []string // notations of a value that is neither object nor array
	names   []string // if the value is an object, the sorted names of its members
	members []tree   // members of an object or elements of an array
	object  bool
}

func genTree(depth int) *rapid.Generator[tree] {
	return rapid.Custom(func(t *rapid.T) tree {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if depth > 0 && (kind < 2 || depth == 4) {
			return rapid.SampledFrom([]tree{
				{leaf: []string{"null"}},
				{leaf: []string{"true"}},
				{leaf: []string{"42", "42.0", "4.2e1", "420E-1"}},
				{leaf: []string{"0", "-0", "0.0", "0e7"}},
				{leaf: []string{`"a"`, `"\u0061"`}},
				{leaf: []string{`"é/"`, `"\u00e9\/"`, `"\u00E9/"`}},
			}).Draw(t, "leaf")
		}
		out := tree{object: kind%2 == 0}
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			out.names = append(out.names, string(rune('a'+i)))
			out.members = append(out.members, genTree(depth+1).Draw(t, "member"))
		}
		return out
	})
}

// write returns the tree in a random notation.
func (x tree) write(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
	if len(x.leaf) > 0 {
		return space + rapid.SampledFrom(x.leaf).Draw(t, "form") + space
	}
	var parts []string
	for i, m := range x.members {
		part := m.write(t)
		if x.object {
			part = fmt.Sprintf("%s%q%s:%s", space, x.names[i], space, part)
		}
		parts = append(parts, part)
	}
	if x.object {
		parts = rapid.Permutation(parts).Draw(t, "order")
		return "{" + space + strings.Join(parts, ",") + "}" + space
	}
	return "[" + strings.Join(parts, ",") + space + "]"
}

// plain returns the tree in canonical notation. The first notation of a leaf is its canonical one.
func (x tree) plain() string {
	if len(x.leaf) > 0 {
		return x.leaf[0]
	}
	var parts []string
	for i, m := range x.members {
		if x.object {
			parts = append(parts, fmt.Sprintf("%q:%s", x.names[i], m.plain()))
		} else {
			parts = append(parts, m.plain())
		}
	}
	if x.object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestJSONValue_UnifiesNotations checks that all notations of a value have one canonical form.
func TestJSONValue_UnifiesNotations(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		x := genTree(0).Draw(t, "tree")
		text := x.write(t)
		if got := jsonValue(t, text).Text(); got != x.plain() {
			t.Fatalf("%s becomes %s, want %s", text, got, x.plain())
		}
	})
}

func FuzzJSONValue(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"b":[1.50,null],"a":{"x":"\u0061\n"}}`, `{"a":1,"a":2}`, nested("[", "", "]", 16), nested("[", "", "]", 17),
		`[1e126]`, `[-0]`, `[1}`, `{"a":1,}`, `[] []`, "[\"\xff\"]", `["\ud800"]`, `["\u2028"]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := varve.JSONValue(text)
		if err != nil {
			return
		}
		form := v.Text()
		if !json.Valid(text) || !json.Valid([]byte(form)) {
			t.Fatalf("%q becomes %q", text, form)
		}
		if !slices.Contains([]byte{'{', '['}, form[0]) {
			t.Fatalf("%q is neither object nor array", form)
		}
		if again := jsonValue(t, form); again.Text() != form {
			t.Fatalf("the canonical form %s becomes %s", form, again)
		}
	})
}
