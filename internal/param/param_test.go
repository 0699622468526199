package param_test

import (
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/param"
)

func TestCheckText_BoundsBytes(t *testing.T) {
	for text, want := range map[string]string{"": "", "äb": "", "abcd": "4 bytes", "\xff": "UTF-8"} {
		checkError(t, param.CheckText("name", text, 3), text, want)
	}
}

func TestCheckObject_AcceptsObjectsOnly(t *testing.T) {
	for text, want := range map[string]string{`{"a":1}`: "", `{"a":12}`: "8 bytes", `[1]`: "JSON object"} {
		v, err := varve.JSONValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		checkError(t, param.CheckObject("name", v, 7), text, want)
	}
	checkError(t, param.CheckObject("name", varve.Value{}, 7), "no value", "")
	checkError(t, param.CheckObject("name", varve.StringValue("{}"), 7), "a string", "JSON object")
}

// checkError checks that an error has the wanted text, or that err is nil if want is "".
func checkError(t *testing.T, err error, input, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", input, err, want)
	}
}

func TestAlternatives_JoinsWords(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := param.Alternatives(words); got != want {
			t.Errorf("%v: %q, want %q", words, got, want)
		}
	}
}
