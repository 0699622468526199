package wire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/varvedb/varve/api/wire"
	"pgregory.net/rapid"
)

// pieces cuts a file into pieces, from a boundary or from its beginning.
func pieces(in io.Reader, f wire.Format, c wire.Columns, most, size int, from *wire.Boundary) ([]wire.Piece, error) {
	s, err := wire.NewSplitter(f, in, c, most, size)
	if err != nil {
		return nil, err
	}
	if from != nil {
		if err := s.Skip(in, *from); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	var all []wire.Piece
	for {
		p, err := s.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
}

// readPieces reads pieces as a server does, and appends the outcomes to got. Readings that cannot be
// sent are rejected at their indexes. The lines of outcomes are lines of the file.
func readPieces(t tester, f wire.Format, c wire.Columns, got []outcome, all []wire.Piece) []outcome {
	t.Helper()
	for _, p := range all {
		if int(p.First) != len(got) {
			t.Fatalf("a piece begins with reading %d, and %d came before", p.First, len(got))
		}
		as := f
		if f == wire.JSON {
			as = wire.NDJSON
		}
		if p.Len() > 0 {
			read, err := drain(new(wire.Memory), new(wire.Batch), as, bytes.NewReader(p.Data), defaults(), c)
			if err != nil || len(read) != p.Len() {
				t.Fatalf("the piece %.200q has %d readings, want %d: %v", p.Data, len(read), p.Len(), err)
			}
			header := bytes.Count(p.Data[:p.Begin], []byte("\n"))
			for i := range read {
				read[i].line += int(p.Line) - 1 - header
				if f == wire.JSON {
					read[i].line = 0
				}
			}
			got = append(got, read...)
		}
		for _, r := range p.Rejects {
			if int(r.Index) != len(got) {
				t.Fatalf("reading %d was left out behind %d", r.Index, len(got))
			}
			got = append(got, outcome{line: int(r.Line), verdict: r.Verdict})
		}
	}
	return got
}

// checkPieces checks that the pieces of a file give the same outcomes as the whole file.
func checkPieces(t tester, f wire.Format, body string, c wire.Columns, most, size int) {
	t.Helper()
	want, err := drain(new(wire.Memory), new(wire.Batch), f, strings.NewReader(body), defaults(), c)
	if err != nil {
		return // the whole file cannot be read, so no outcome exists to compare with
	}
	all, err := pieces(iotest.HalfReader(strings.NewReader(body)), f, c, most, size, nil)
	if err != nil {
		t.Fatalf("%v, and it can be read at once", err)
	}
	got := readPieces(t, f, c, nil, all)
	if codes(got) != codes(want) {
		t.Fatalf("in pieces %s, at once %s", codes(got), codes(want))
	}
	sameTexts(t, texts(got), texts(want))
}

var splitFormats = []wire.Format{wire.JSON, wire.NDJSON, wire.CSV}

func TestSplitter_AgreesWithWholeFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, size := rapid.IntRange(1, 5).Draw(t, "most"), rapid.IntRange(1, 500).Draw(t, "size")
		for _, f := range splitFormats {
			checkPieces(t, f, anyBody(t, f), wire.Columns{}, most, size)
		}
	})
}

// TestSplitter_HandlesOddFiles checks the pieces of files that a random test is unlikely to
// generate.
func TestSplitter_HandlesOddFiles(t *testing.T) {
	long := object(`{"a":"` + repeat("x", 300<<10) + `"}`)
	rows := []struct {
		format wire.Format
		body   string
	}{
		{wire.NDJSON, good + "\n" + long + "\n" + good + "\n" + long},
		{wire.NDJSON, "\n\n" + good + "\n\n\n" + good + "\n\n"},
		{wire.JSON, "[" + good + "," + long + "," + good + "]"},
		{wire.JSON, "[" + strings.ReplaceAll(good, ",", ",\r\n  ") + ",\n" + object("{\"a\":\"\r\"}") + "\n,[\n1\n]]"},
		{wire.JSON, "\ufeff [ " + good + "\n] \n"},
		{wire.JSON, "[]"},
		{wire.CSV, header + "1475001526000,d1,\"a\n" + repeat("x", 300<<10) + "\nb\",1\n" + goodRow},
		{wire.CSV, header + "1475001526000,d1,\"a\n\n\nb\"\n\n" + goodRow + "\r\r\n" + goodRow},
		{wire.CSV, "\ufeff\"time\",\"device\",\"a\nb\"\r\n" + goodRow},
	}
	for _, row := range rows {
		for most := 1; most < 5; most++ {
			checkPieces(t, row.format, row.body, wire.Columns{}, most, 1<<20)
		}
	}
	names := wire.Columns{Names: []string{"time", "device", "a"}, Delimiter: ';'}
	checkPieces(t, wire.CSV, "1475001526000;d1;1\n1475001526000;d1;2,5\n\n1475001526000;d1\n", names, 1, 1<<20)
}

// notSeeker hides the Seek method of a file.
type notSeeker struct{ io.Reader }

// TestSplitter_SkipsToBoundary checks that a splitter can continue after any piece. The next reading
// must have the same index and line, even if the pieces have another size.
func TestSplitter_SkipsToBoundary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(splitFormats).Draw(t, "format")
		body := anyBody(t, f)
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			body = strings.Replace(body, good, object(`{"a":"`+repeat("x", 300<<10)+`"}`), 1)
		}
		all, err := pieces(strings.NewReader(body), f, wire.Columns{}, rapid.IntRange(1, 4).Draw(t, "most"), 1<<20, nil)
		if err != nil || len(all) == 0 {
			t.Skip("no pieces")
		}
		whole := readPieces(t, f, wire.Columns{}, nil, all)
		at := all[rapid.IntRange(0, len(all)-1).Draw(t, "piece")]
		place := wire.Boundary{Offset: at.Offset, Line: at.LineNext, Readings: at.First + int64(at.Len()+len(at.Rejects))}
		for name, in := range map[string]io.Reader{"file": strings.NewReader(body), "pipe": notSeeker{strings.NewReader(body)}} {
			rest, err := pieces(in, f, wire.Columns{}, rapid.IntRange(1, 4).Draw(t, "most then"), 1<<20, &place)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := readPieces(t, f, wire.Columns{}, whole[:place.Readings:place.Readings], rest)
			if codes(got) != codes(whole) {
				t.Fatalf("%s: from %+v %s, whole %s", name, place, codes(got), codes(whole))
			}
			sameTexts(t, texts(got), texts(whole))
		}
	})
}

func TestPiece_OnlySelectsReadings(t *testing.T) {
	body := "time,device,a\r\n" + "1475001526000,d1,1\r\n\r\n1475001526000,d1,\"2\n3\"\r\n1475001526000,d1,4"
	all, err := pieces(strings.NewReader(body), wire.CSV, wire.Columns{}, 10, 1<<20, nil)
	if err != nil || len(all) != 1 || all[0].Len() != 3 {
		t.Fatal(all, err)
	}
	if got := string(all[0].Text(1)); got != "1475001526000,d1,\"2\n3\"" {
		t.Errorf("%q", got)
	}
	p := all[0].Only([]int{1, 2})
	if string(p.Data) != "time,device,a\n1475001526000,d1,\"2\n3\"\n1475001526000,d1,4\n" {
		t.Errorf("%q", p.Data)
	}
	got := mustRead(t, wire.CSV, string(p.Data))
	if codes(got) != "2:ok 4:ok" || string(p.Text(0)) != string(all[0].Text(1)) || all[0].Len() != 3 || len(mustRead(t, wire.CSV, string(all[0].Data))) != 3 {
		t.Error(codes(got), p)
	}
	for i, line := range []int64{2, 4, 6} {
		if index, at := all[0].Where(i); index != int64(i) || at != line {
			t.Errorf("reading %d is said to be number %d, on line %d; want line %d", i, index, at, line)
		}
	}
	if index, at := p.Where(1); index != 2 || at != 6 {
		t.Errorf("the last of some is said to be number %d, on line %d; want 2 on line 6", index, at)
	}
}

// TestSplitter_ReportsErrors checks the error for a file that cannot be cut. The readings before the
// error must be returned first.
func TestSplitter_ReportsErrors(t *testing.T) {
	rows := []struct {
		format     wire.Format
		body, says string
	}{
		{wire.JSON, "", "empty"}, {wire.JSON, good, "--format ndjson"}, {wire.JSON, "[" + good[:20], "JSON array"},
		{wire.CSV, "\n", "empty"}, {wire.CSV, "\"a", "header"},
	}
	for _, row := range rows {
		_, err := pieces(strings.NewReader(row.body), row.format, wire.Columns{}, 5, 1<<20, nil)
		var body *wire.BodyError
		if !errors.As(err, &body) || !strings.Contains(body.Message, row.says) {
			t.Errorf("%s %q: %v, want %s", row.format, row.body, err, row.says)
		}
	}
	for f, body := range map[wire.Format]string{wire.JSON: "[" + good + "," + good, wire.NDJSON: good + "\n" + good + "\n{", wire.CSV: header + goodRow + "\n" + goodRow + "\n1"} {
		all, err := pieces(io.MultiReader(strings.NewReader(body), iotest.ErrReader(errGone)), f, wire.Columns{}, 5, 1<<20, nil)
		if !errors.Is(err, errGone) || len(all) != 1 || all[0].Len() != 2 {
			t.Errorf("%s: %d pieces, %v", f, len(all), err)
		}
	}
}
