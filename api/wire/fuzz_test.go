package wire_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// fuzzLimit bounds inputs. Longer ones are slow to read byte by byte, and find no further errors.
const fuzzLimit = 4 << 10

// checkBody checks that the verdicts on a body are printable, and do not depend on how many bytes each
// read returns. An accepted reading must not change when it is resent or returned in an answer.
func checkBody(t tester, f wire.Format, body string, c wire.Columns) {
	t.Helper()
	drained := func(r io.Reader) ([]outcome, error) {
		return drain(new(wire.Memory), new(wire.Batch), f, r, defaults(), c)
	}
	all, err := drained(strings.NewReader(body))
	checkMessages(t, all)
	again, againErr := drained(iotest.OneByteReader(strings.NewReader(body)))
	if message(err) != message(againErr) || codes(all) != codes(again) {
		t.Fatalf("byte by byte %s, %v; at once %s, %v", codes(again), againErr, codes(all), err)
	}
	sameTexts(t, texts(again), texts(all))
	if f != wire.JSON || strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(body, "\ufeff"), " \t\r\n"), "[") {
		checkPieces(t, f, body, c, 2, 100)
	}
	for i := range all {
		if all[i].verdict.Outcome == 0 {
			checkAccepted(t, &all[i].reading)
		}
	}
}

// checkAccepted checks that the written forms of a reading restore it.
func checkAccepted(t tester, r *varve.Reading) {
	t.Helper()
	sent := mustRead(t, wire.JSON, string(wire.AppendSubmission(nil, r)))
	if len(sent) != 1 || sent[0].String() != show(r) {
		t.Fatalf("%s was sent again, and is %s", show(r), texts(sent))
	}
	r.Arrived = time.UnixMilli(1475001526000).UTC()
	back, err := wire.ParseAnswer(wire.AppendReading(nil, r), r.Series)
	if err != nil || show(&back) != show(r) || !back.Equal(r) {
		t.Fatalf("%s came back as %s: %v", show(r), show(&back), err)
	}
	bare := back.Clone()
	bare.ID = varve.ID{}
	if v := bare.Normalize(); v.Outcome != 0 {
		t.Fatalf("%s without its id: %s", show(r), v)
	}
}

func FuzzJSON(f *testing.F) {
	for _, o := range badObjects {
		f.Add(o.object[:min(len(o.object), 300)])
		f.Add("[" + good + "," + o.object[:min(len(o.object), 300)] + "]")
	}
	for _, b := range brokenLines {
		f.Add("[" + b.line[:min(len(b.line), 300)] + ",\n" + good + "]")
	}
	f.Add("\ufeff" + good)
	f.Add(good + "\n" + good)
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) <= fuzzLimit {
			checkBody(t, wire.JSON, body, wire.Columns{})
		}
	})
}

func FuzzNDJSON(f *testing.F) {
	for _, o := range badObjects {
		f.Add(o.object[:min(len(o.object), 300)] + "\n" + good)
	}
	for _, b := range brokenLines {
		f.Add(good + "\r\n" + b.line[:min(len(b.line), 300)] + "\n\n" + good)
	}
	f.Add(object(`{"a":1.50,"b":-0,"c":1e-130,"d":"\ud800","e":{"ä":[null,true,1e5]},"f":""}`))
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) <= fuzzLimit {
			checkBody(t, wire.NDJSON, body, wire.Columns{})
		}
	})
}

// FuzzCSV checks bodies of CSV with checkBody. It varies the body, the delimiter, the kind of one column, and
// whether the columns are named.
func FuzzCSV(f *testing.F) {
	for i, row := range csvRows {
		rows := row.rows[:min(len(row.rows), 300)]
		f.Add(header+goodRow+"\n"+rows+"\n"+goodRow, ",", i%2 == 0, byte(i%5))
	}
	f.Add("\ufeff\"time\";device;\"a\nb\"\r\n1475001526000;d1;\"1;\"\"\"\r\n", ";", false, byte(0))
	f.Add("timestamp·device·id·arrived\n", "·", false, byte(0))
	f.Add("", ",", true, byte(1))
	f.Fuzz(func(t *testing.T, body, delimiter string, named bool, kind byte) {
		if len(body) > fuzzLimit {
			return
		}
		c := wire.Columns{Kinds: map[string]varve.Kind{"a": varve.Kind(kind % 5)}}
		if r := []rune(delimiter); len(r) > 0 {
			c.Delimiter = r[0]
		}
		if named {
			c.Names = []string{"time", "device", "a"}
		}
		checkBody(t, wire.CSV, body, c)
	})
}

// FuzzTime checks that an accepted time is valid, and is restored from its written form. A time must be
// the same whether it is parsed alone or in a reading.
func FuzzTime(f *testing.F) {
	for _, row := range times {
		f.Add(row.text, int64(row.format.Precision), row.format.Location != nil)
	}
	f.Fuzz(func(t *testing.T, text string, precision int64, zone bool) {
		d := defaults()
		d.Time.Precision = wire.Precision(precision)
		if p := d.Time.Precision; p != 0 && p != wire.Seconds && p != wire.Milliseconds && p != wire.Microseconds {
			d.Time.Precision = wire.Nanoseconds
		}
		if zone {
			d.Time.Location = berlin
		}
		at, v := d.Time.Parse(text)
		body := string(wire.AppendString([]byte(`{"device":"d1","time":`), text)) + `,"fields":{"a":1}}`
		all, err := drain(new(wire.Memory), new(wire.Batch), wire.NDJSON, strings.NewReader(body), d, wire.Columns{})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		checkMessages(t, all)
		if v.Outcome == varve.Rejected {
			if all[0].verdict.Code != v.Code {
				t.Fatalf("%q: %s alone, %s in a reading", text, v, all[0].verdict)
			}
			return
		}
		if !varve.AllTime().Contains(at) || at.Location() != time.UTC {
			t.Fatalf("%q is %s", text, at)
		}
		if all[0].verdict.Outcome != 0 || !all[0].reading.Time.Equal(at) {
			t.Fatalf("%q is %s alone, and in a reading %s: %s", text, at, all[0].reading.Time, all[0].verdict)
		}
		back, v := (wire.TimeFormat{}).Parse(string(wire.AppendTime(nil, at)))
		if v.Outcome != 0 || !back.Equal(at) {
			t.Fatalf("%s came back as %s: %s", at, back, v)
		}
	})
}
