package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// oracle parses line protocol with InfluxData's library. If the library finds an error, ok is false.
func oracle(text []byte) (points []string, ok bool) {
	d := lineprotocol.NewDecoderWithBytes(text)
	for d.Next() {
		point, err := oraclePoint(d)
		if err != nil {
			return nil, false
		}
		points = append(points, point)
	}
	return points, true
}

func oraclePoint(d *lineprotocol.Decoder) (string, error) {
	name, err := d.Measurement()
	if err != nil {
		return "", err
	}
	s := string(name)
	var tags, fields []string
	for {
		key, value, err := d.NextTag()
		if err != nil {
			return "", err
		}
		if key == nil {
			break
		}
		tags = append(tags, fmt.Sprintf(" %q=%q", key, value))
		if slices.ContainsFunc(tags[:len(tags)-1], func(t string) bool { return strings.HasPrefix(t, fmt.Sprintf(" %q=", key)) }) {
			return "", fmt.Errorf("tag %q occurs twice", key)
		}
	}
	for {
		key, value, err := d.NextField()
		if err != nil {
			return "", err
		}
		if key == nil {
			break
		}
		fields = append(fields, fmt.Sprintf(" %q:%s", key, oracleValue(value)))
		if slices.ContainsFunc(fields[:len(fields)-1], func(f string) bool { return strings.HasPrefix(f, fmt.Sprintf(" %q:", key)) }) {
			return "", fmt.Errorf("field %q occurs twice", key)
		}
	}
	at, err := d.Time(lineprotocol.Nanosecond, time.Unix(0, arrival))
	slices.Sort(tags)
	slices.Sort(fields)
	return fmt.Sprint(s, tags, fields, at.UnixNano()), err
}

// arrival is the time, in nanoseconds since 1970, of points that are sent without a time.
const arrival = 1475001526000000000

func oracleValue(v lineprotocol.Value) string {
	switch v.Kind() {
	case lineprotocol.String:
		return fmt.Sprintf("%q", v.StringV())
	case lineprotocol.Bool:
		return fmt.Sprint(v.BoolV())
	case lineprotocol.Float:
		return fmt.Sprintf("%g", v.FloatV()+0) // -0 is 0
	case lineprotocol.Int:
		return fmt.Sprintf("%g", float64(v.IntV()))
	default:
		return fmt.Sprintf("%g", float64(v.UintV()))
	}
}

// ourPoints parses line protocol with the reader. Each tag is a field, and the device is a constant.
func ourPoints(text []byte) []outcome {
	d := wire.Defaults{Tenant: "acme", Device: "d", Lines: &wire.LineMapping{TagFields: true}, Now: func() time.Time { return time.Unix(0, arrival) }}
	r, err := wire.NewReader(new(wire.Memory), wire.Line, strings.NewReader(string(text)), d, wire.Columns{})
	if err != nil {
		return nil
	}
	var b wire.Batch
	var all []outcome
	for {
		b.Reset()
		err := r.Read(&b)
		for i := range b.Readings {
			all = append(all, outcome{line: b.Lines[i], reading: b.Readings[i].Clone(), verdict: b.Verdicts[i]})
		}
		if err != nil {
			return all
		}
	}
}

// pointText formats a reading in the same way as oraclePoint formats a point.
func pointText(r *varve.Reading) string {
	var tags, fields []string
	for _, f := range r.Fields {
		if tag, ok := strings.CutPrefix(f.Name, wire.TagPrefix); ok && f.Value.Kind() == varve.KindString {
			tags = append(tags, fmt.Sprintf(" %q=%q", tag, f.Value.Text()))
			continue
		}
		text := f.Value.String()
		if f.Value.Kind() == varve.KindNumber {
			text = fmt.Sprintf("%g", f.Value.Number().Float64())
		} else if f.Value.Kind() == varve.KindString {
			text = fmt.Sprintf("%q", f.Value.Text())
		}
		fields = append(fields, fmt.Sprintf(" %q:%s", f.Name, text))
	}
	slices.Sort(tags)
	slices.Sort(fields)
	return fmt.Sprint(r.Stream, tags, fields, r.Time.UnixNano())
}

// narrower reports whether a rejection is due to a limit of Varve that line protocol lacks. Such limits
// are the names of streams, the range of times, and the range and the digits of numbers.
func narrower(v varve.Verdict) bool {
	return slices.Contains([]varve.Code{
		varve.CodeStreamInvalid, varve.CodeTimeTooOld, varve.CodeTimeUnit, varve.CodeTimeInFuture, varve.CodeTimeInvalid, varve.CodeFieldInvalid,
	}, v.Code)
}

// checkOracle compares the reader with the library on one text.
func checkOracle(t tester, text []byte) {
	t.Helper()
	want, ok := oracle(text)
	got := ourPoints(text)
	if !ok {
		for _, o := range got {
			if o.verdict.Outcome == varve.Rejected || hasTwice(&o.reading) {
				return
			}
		}
		if len(got) > 0 && !lenient(text) {
			t.Errorf("%q is accepted, and the library rejects it", text)
		}
		return
	}
	if len(got) != len(want) {
		t.Errorf("%q has %d points, want %d: %s", text, len(got), len(want), codes(got))
		return
	}
	for i := range got {
		if v := got[i].verdict; v.Outcome == varve.Rejected {
			if !narrower(v) && !stricter(text) {
				t.Errorf("%q: point %d: %s, want %s", text, i, v, want[i])
			}
			continue
		}
		if text := pointText(&got[i].reading); text != want[i] {
			t.Errorf("point %d is\n%s, want\n%s", i, text, want[i])
		}
	}
}

// hasTwice reports whether NormalizeValues rejects a reading, as it does if a field occurs twice.
func hasTwice(r *varve.Reading) bool {
	c := r.Clone()
	return c.NormalizeValues().Outcome == varve.Rejected
}

// lenient reports whether a text may have bytes that the reader skips and the library rejects. These are
// blanks, comments and a byte order mark.
func lenient(text []byte) bool { return strings.ContainsAny(string(text), "\t\r#\ufeff\v\f") }

// stricter reports whether a text has a number that Go's parser accepts, and the protocol does not.
func stricter(text []byte) bool { return strings.ContainsAny(string(text), "xX_") }

// TestLine_AgreesWithCorpus checks the reader against the corpus of InfluxData's library.
func TestLine_AgreesWithCorpus(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/influxdata/line-protocol/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "lineprotocol", "testdata", "corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var corpus struct {
		Decode map[string]struct{ Input struct{ Text any } }
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	if len(corpus.Decode) < 6000 {
		t.Fatalf("the corpus has %d texts", len(corpus.Decode))
	}
	for key, c := range corpus.Decode {
		var text []byte
		switch v := c.Input.Text.(type) {
		case string:
			text = []byte(v)
		case map[string]any:
			if text, err = base64.StdEncoding.DecodeString(v["binary"].(string)); err != nil {
				t.Fatal(key, err)
			}
		}
		checkOracle(t, text)
	}
}

// FuzzLine compares the reader with InfluxData's library.
func FuzzLine(f *testing.F) {
	for _, text := range []string{
		`weather,device=d1,site=north temperature=22.40,ok=t,n=7i,u=1u,s="a \"b\" \\" 1475001526000000000`,
		"m,a\\ b=c\\,d\\=e f\\ g=\"x\ny\" \n# a comment\n\nm f=1e3,g=.5,h=5.,i=-0i\r\n",
		"m f=\"open 1\nm f=2 1475001526000000001", `m,t=1 f=0x1p-2 1`, "m f=1,f=2", "m,a=1,a=2 f=1", "\t", "\" 0=\"\n\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) <= fuzzLimit {
			checkOracle(t, text)
			checkOracle(t, slices.Concat(text, []byte("\n"), text, []byte("\n"), text)) // the reader caches the names of the first copy
			checkBody(t, wire.Line, string(text), wire.Columns{})
		}
	})
}
