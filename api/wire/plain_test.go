package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve"
)

// readBoth reads objects with plain, the fast parser of common objects, and with the decoder. It checks
// that plain either returns false, or agrees with the decoder. It returns the number of objects that plain
// read.
func readBoth(t *testing.T, texts ...string) (read int) {
	t.Helper()
	var b Batch
	quick := object{Defaults: Defaults{Tenant: "t", Stream: "s"}}
	full := quick
	for _, text := range texts {
		text = strings.TrimFunc(text, func(r rune) bool { return r < 0x80 && isBlank(byte(r)) })
		r := addEmpty(&b, &quick)
		fields := len(b.fields)
		size := b.size
		ok := quick.plain.into(&b, r, &quick, []byte(text))
		got, bytes := r.Clone(), b.size-size
		if quick.plain.sorted() && !slices.IsSortedFunc(r.Fields, varve.CompareFields) {
			t.Fatalf("%s: the fields of a known shape are not sorted: %s", text, show(&got))
		}
		if !ok {
			if len(b.fields) != fields || b.size != size || r.Device != "" || !r.ID.IsZero() || len(r.Fields) > 0 {
				t.Fatalf("%s: plain gave up, and left %s", text, show(&got))
			}
			continue
		}
		read++
		r = addEmpty(&b, &full)
		size = b.size
		if !full.decode(&b, r, []byte(text)) || b.Verdicts[len(b.Verdicts)-1].Outcome != 0 {
			t.Fatalf("%s: plain read %s, the decoder rejects it: %+v", text, show(&got), b.Verdicts[len(b.Verdicts)-1])
		}
		want := r.Clone()
		if bytes != b.size-size {
			t.Fatalf("%s: plain counted %d bytes, the decoder %d", text, bytes, b.size-size)
		}
		v, w := got.Normalize(), want.Normalize()
		if v != w || show(&got) != show(&want) || got.ID != want.ID {
			t.Fatalf("%s: plain read %s %+v, the decoder %s %+v", text, show(&got), v, show(&want), w)
		}
	}
	return read
}

// sorted reports whether the last object has a shape without a repeated name.
func (p *plain) sorted() bool { return len(p.shapes[p.last].order) > 0 }

func addEmpty(b *Batch, o *object) *varve.Reading {
	r := b.add(1)
	r.Tenant, r.Stream, r.Device = o.Tenant, o.Stream, o.Device
	return r
}

// show returns all parts of a reading as text, with the scale of its numbers.
func show(r *varve.Reading) string {
	return fmt.Sprint(r.Series, r.Time, r.Time.Location(), r.ID.String(), r.ID.IsZero(), string(AppendReading(nil, r)))
}

func with(fields string) string {
	return `{"device":"d1","time":1475001526000,"fields":` + fields + `}`
}

func TestPlain_ReadsCommonObjects(t *testing.T) {
	texts := []string{
		with(`{"temperature":22.4,"humidity":61,"battery":88}`),
		with(`{"temperature":22.40,"humidity":-61,"battery":0.0}`),
		with(`{"humidity":61,"temperature":22.4,"battery":88}`),
		with(`{"humidity":61,"temperature":22.4}`),
		with(`{"humidity":61,"temperature":"a b","on":true,"off":false}`),
		with(`{ "humidity" : 61 , "temperature" : "" ,	"on":true }`),
		`{"time": "2026-04-20T14:00:00Z", "device": "sensor 01", "fields": {"a": 1}, "id": "x"}`,
		`{"device":"d1","time":"2026-04-20 14:00:00.5","fields":{"a":123456789012345678}}`,
		`{"device":"d1","time":1475001526000.5,"id":"-8yeEAkLvyY","fields":{"a":-0.00000000000000001}}`,
	}
	if read := readBoth(t, texts...); read != len(texts) {
		t.Errorf("plain read %d of %d common objects", read, len(texts))
	}
}

// TestPlain_GivesUp checks that plain leaves unusual objects to the decoder, and reads common ones
// afterward.
func TestPlain_GivesUp(t *testing.T) {
	good := with(`{"a":1,"b":2}`)
	texts := []string{
		"", "{", "{}", "[]", good + "x", good + good, good[:len(good)-1], `{"device":"d1"}`,
		`{"device":"d1","time":1475001526000}`, `{"time":1475001526000,"fields":{"a":1}}`,
		`{"device":"","time":1475001526000,"fields":{"a":1}}`,
		`{"device":"d1","time":1475001526,"fields":{"a":1}}`,
		`{"device":"d1","device":"d2","time":1475001526000,"fields":{"a":1}}`,
		`{"device":"d1","time":1475001526000,"fields":{"a":1},"fields":{"b":1}}`,
		`{"device":"d1","time":1475001526000,"fields":{"a":1},"more":1}`,
		`{"device":"d\u0031","time":1475001526000,"fields":{"a":1}}`,
		`{"device":"ä","time":1475001526000,"fields":{"a":1}}`,
		`{"device":"d1","time":1475001526000,"id":"","fields":{"a":1}}`,
		with(`{}`), with(`{"a":1,}`), with(`{"a"}`), with(`{"a":}`), with(`{"a":1 "b":2}`), with(`{"a":null}`),
		with(`{"a":01}`), with(`{"a":1.}`), with(`{"a":.5}`), with(`{"a":-}`), with(`{"a":+1}`), with(`{"a":1e5}`), with(`{"a":1E5}`),
		with(`{"a":1234567890123456789}`), with(`{"a":0.1234567890123456789}`), with(`{"a":NaN}`), with(`{"a":1x}`),
		with(`{"a":"\n"}`), with("{\"a\":\"\t\"}"), with(`{"a":"é"}`), with(`{"a":[1]}`), with(`{"a":{"b":1}}`), with(`{"a":tru}`), with(`{"a":truex}`),
		with(`{"a":1,"b":null}`), with(`{"a":1,"b":2,"c":[]}`), with(`{"a":1,"b":2`),
	}
	for _, text := range texts {
		if read := readBoth(t, good, text, good); read != 2 {
			t.Errorf("%s: plain read %d objects, want the good ones", text, read)
		}
	}
}

// TestPlain_LeavesDuplicateFields checks that a reading with a duplicate field has the verdict of the
// decoder. Its shape, which is the sequence of its fields, must not be predicted for later readings.
func TestPlain_LeavesDuplicateFields(t *testing.T) {
	for i := range 2 * fewShapes {
		readBoth(t, with(fmt.Sprintf(`{"b":1,"a%d":2}`, i)), with(fmt.Sprintf(`{"a%d":1,"b":2}`, i/2)))
	}
	readBoth(t, with(`{"b":1,"a":2,"b":3}`), with(`{"b":1,"a":2,"b":3}`), with(`{"b":1,"a":2}`), with(`{"b":1,"a":2,"b":3}`))
}

// BenchmarkPlain reads objects of one to six shapes in turn.
func BenchmarkPlain(b *testing.B) {
	for _, shapes := range []int{1, 2, fewShapes, fewShapes + 2} {
		b.Run(fmt.Sprint(shapes, " shapes"), func(b *testing.B) {
			var texts [][]byte
			for i := range shapes {
				texts = append(texts, []byte(with(fmt.Sprintf(`{"temperature":22.4,"humidity%d":61,"battery":88}`, i))))
			}
			var batch Batch
			o := object{Defaults: Defaults{Tenant: "t", Stream: "s"}}
			for i := 0; b.Loop(); i++ {
				if batch.Full() {
					batch.Reset()
				}
				if !o.into(&batch, texts[i%shapes], 1) {
					b.Fatal("not read")
				}
			}
		})
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(with(`{"temperature":22.4,"humidity":61,"battery":88}`), with(`{"temperature":22.45,"humidity":"x","battery":true}`))
	f.Add(`{"time":"2026-04-20T14:00:00Z", "id":"x", "device":"a b","fields":{"b":-0.10,"a":0}}`, with(`{"b":1,"a":1e3}`))
	f.Add(with(`{"a":1,"a":2}`), with(`{"a":"\u0041","b":null}`))
	f.Fuzz(func(t *testing.T, first, second string) {
		if len(first)+len(second) <= 4<<10 {
			readBoth(t, first, second, first, second)
		}
	})
}
