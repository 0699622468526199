package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
)

// arrowReading is a reading in the form of a JSON answer.
type arrowReading struct {
	Time, ID, Arrived string
	Fields            map[string]json.RawMessage
}

// arrowRows returns the readings of an Arrow stream in the form of a JSON answer, and the number of
// batches of the stream.
func arrowRows(t *testing.T, text string) (rows []arrowReading, batches int) {
	t.Helper()
	if !strings.HasSuffix(text, "\xff\xff\xff\xff\x00\x00\x00\x00") {
		t.Fatalf("the stream has no end: %q", text[max(0, len(text)-20):])
	}
	in, err := ipc.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, batches
		}
		if err != nil {
			t.Fatal(err)
		}
		batches++
		for i := range int(record.NumRows()) {
			rows = append(rows, arrowRow(t, record, i))
		}
	}
}

func arrowRow(t *testing.T, record arrow.RecordBatch, i int) arrowReading {
	t.Helper()
	row := arrowReading{Fields: map[string]json.RawMessage{}}
	for j, f := range record.Schema().Fields() {
		c := record.Column(j)
		if c.IsNull(i) {
			continue
		}
		kind, _ := f.Metadata.GetValue("varve.kind")
		switch c := c.(type) {
		case *array.Null:
		case *array.Timestamp:
			at := c.Value(i).ToTime(c.DataType().(*arrow.TimestampType).Unit)
			if text := string(wire.AppendTime(nil, at)); f.Name == "time" {
				row.Time = text
			} else {
				row.Arrived = text
			}
		case *array.Decimal128:
			row.Fields[f.Name] = json.RawMessage(c.Value(i).ToString(c.DataType().(*arrow.Decimal128Type).Scale))
		case *array.Float64:
			row.Fields[f.Name] = json.RawMessage(fmt.Sprint(c.Value(i)))
		case *array.Boolean:
			row.Fields[f.Name] = json.RawMessage(fmt.Sprint(c.Value(i)))
		case *array.String:
			switch text := c.Value(i); kind {
			case "":
				row.ID = strings.Clone(text)
			case "string":
				row.Fields[f.Name] = wire.AppendString(nil, text)
			default:
				row.Fields[f.Name] = json.RawMessage(text)
			}
		default:
			t.Fatalf("column %s is %s", f.Name, f.Type)
		}
	}
	return row
}

// sameValue reports whether two JSON values are equal. Trailing zeros of numbers do not count.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	n, errA := decimal.Parse(a)
	m, errB := decimal.Parse(b)
	return errA == nil && errB == nil && n.Equal(m)
}

// checkArrow compares the first four pages of a query as Arrow with its pages as JSON.
func (w *twins) checkArrow(h http.Handler, path string) {
	w.t.Helper()
	cursor := ""
	for page := range 4 {
		got := w.send(h, http.MethodGet, path+"&format=arrow"+cursor, "")
		text := w.send(h, http.MethodGet, path+"&format=json"+cursor, "")
		var want struct {
			Readings []arrowReading
			Next     string
		}
		if err := json.Unmarshal(text.Body.Bytes(), &want); err != nil || got.Code != http.StatusOK || text.Code != http.StatusOK {
			w.t.Fatalf("%s: %d %.300s, %d %.300s: %v", path, got.Code, got.Body, text.Code, text.Body, err)
		}
		rows, _ := arrowRows(w.t, got.Body.String())
		same := slices.EqualFunc(rows, want.Readings, func(a, b arrowReading) bool {
			same := a.Time == b.Time && a.ID == b.ID && a.Arrived == b.Arrived && len(a.Fields) == len(b.Fields)
			for name, v := range a.Fields {
				same = same && sameValue(v, b.Fields[name])
			}
			return same
		})
		if !same || got.Header().Get("Varve-Next") != want.Next || got.Header().Get("Varve-Coverage") == "" {
			w.t.Errorf("%s, page %d: %d readings, next %q\n%.1500s\nwant %d, next %q\n%.1500s", path, page, len(rows), got.Header().Get("Varve-Next"),
				fmt.Sprint(rows), len(want.Readings), want.Next, text.Body)
			return
		}
		if want.Next == "" {
			return
		}
		cursor = "&cursor=" + want.Next
	}
}

// TestArrow_AnswersEqualJSON compares answers as Arrow with answers as JSON, on random readings
// with values of all kinds. Of two servers over one store, one reads columns, and the other one reads
// single readings.
func TestArrow_AnswersEqualJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	w := newTwins(t)
	for w.clock.Before(noon) {
		w.ingest(rng, 50+rng.IntN(300))
		w.clock = w.clock.Add(time.Duration(rng.IntN(15*24)) * time.Hour)
	}
	for range 12 {
		path := strings.Replace(w.randomPath(rng, "x"), "format=x", "precision=ns", 1)
		w.checkArrow(w.columns, path)
		w.checkArrow(w.rows, path)
	}
}

// schemaText returns the names, types and kinds of the columns of a stream.
func schemaText(t *testing.T, text string) string {
	t.Helper()
	in, err := ipc.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	var columns []string
	for _, f := range in.Schema().Fields() {
		c := f.Name + " " + f.Type.String()
		if kind, ok := f.Metadata.GetValue("varve.kind"); ok {
			c += " " + kind
		}
		columns = append(columns, c)
	}
	return strings.Join(columns, "\n")
}

// TestArrow_SchemaFollowsValues checks the type of each column, and empty answers.
func TestArrow_SchemaFollowsValues(t *testing.T) {
	s := newServer(t, nil)
	s.write(`{"device":"d1","time":"2026-11-18T11:00:00Z","id":"a","fields":{"time":22.40,"n":1e30,"wide":12345678901234567890.10,"text":"a","ok":true,"json":[1],"mixed":1}}`,
		`{"device":"d1","time":"2026-11-18T11:01:00.5Z","id":"b","fields":{"time":-1.125,"n":1e-30,"wide":5,"text":"b","ok":false,"json":{"k":2},"mixed":"x"}}`)
	const head = "time timestamp[ns, tz=UTC]\nid utf8\narrived timestamp[ms, tz=UTC]"
	rows := []struct{ path, want string }{
		{with(readPath, "format", "arrow"), head + "\njson utf8 json\nmixed utf8 mixed\nn utf8 number\nok bool boolean\ntext utf8 string\n" +
			"fields.time decimal(38, 3) number\nwide decimal(38, 2) number"},
		{with(readPath, "format", "arrow", "numbers", "float", "fields", "n,wide,nope"), head + "\nn float64 number\nnope null\nwide float64 number"},
		{with(readPath, "format", "arrow", "fields", "n", "limit", "1"), head + "\nn decimal(38, 0) number"},
		{with(readPath, "format", "arrow", "to", "2020-01-01"), head},
	}
	for _, row := range rows {
		r := s.get(row.path)
		if got := schemaText(t, r.body); got != row.want || r.header.Get("Content-Type") != "application/vnd.apache.arrow.stream" {
			t.Errorf("%s: %s\n%s\nwant %s", row.path, r.header.Get("Content-Type"), got, row.want)
		}
	}
	if all, batches := arrowRows(t, s.get(rows[3].path).body); len(all) != 0 || batches != 0 {
		t.Errorf("an empty answer has %d readings and %d batches", len(all), batches)
	}
	floats, _ := arrowRows(t, s.get(rows[1].path).body)
	if got := fmt.Sprintf("%s %s", floats[0].Fields["wide"], floats[1].Fields["n"]); got != "1.2345678901234567e+19 1e-30" {
		t.Error("floats:", got)
	}
	if r := s.get(rows[1].path); r.trailer.Get("Varve-Coverage") == "" || !strings.Contains(r.trailer.Get("Varve-Notes"), "nope") {
		t.Errorf("trailers: %v", r.trailer)
	}
	if r := s.get(readPath, "Accept", "application/vnd.apache.arrow.stream"); schemaText(t, r.body) != rows[0].want {
		t.Errorf("by Accept: %q", r.body)
	}
	s.get(with(readPath, "numbers", "float")).problem(http.StatusBadRequest, "query.numbers", "requires format=arrow")
	s.get(with(readPath, "format", "arrow", "numbers", "big")).problem(http.StatusBadRequest, "query.numbers", "use exact or float")
	s.get(with(strings.Replace(readPath, "d1", "d9", 1), "format", "arrow")).problem(http.StatusNotFound, "", "device d9")
	s.get(with(aggregatePath, "step", "1h", "format", "arrow")).problem(http.StatusBadRequest, "query.format", "json, ndjson or csv")
	s.send(http.MethodPost, writePath+"?format=arrow", good(noon)).problem(http.StatusBadRequest, "query.format", "use json, ndjson, csv or line")
}

// TestArrow_CutOffAnswerNeverLooksComplete makes the store fail in the middle of an answer. A reader of
// the sent part must fail, even if the part consists of whole batches.
func TestArrow_CutOffAnswerNeverLooksComplete(t *testing.T) {
	s := newServer(t, nil)
	line := `{"device":"d1","time":%q,"fields":{"text":"` + strings.Repeat("x", 50_000) + `"}}`
	for i := range 100 {
		s.write(fmt.Sprintf(line, noon.AddDate(-1, 0, 0).Add(time.Duration(i)*time.Minute).Format(time.RFC3339)))
	}
	s.write(good(noon))
	calls, last := 0, 0
	s.store.set(&s.store.read, func(grid.Table) error {
		if calls++; calls == last {
			return errDisk
		}
		return nil
	})
	path := with(readPath, "format", "arrow")
	whole := s.get(path)
	if all, batches := arrowRows(t, whole.body); len(all) != 101 || batches < 2 {
		t.Fatalf("%d readings in %d batches", len(all), batches)
	}
	calls, last = 0, calls
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sent, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the body is complete:", err)
	}
	rows := 0
	in, err := ipc.NewReader(bytes.NewReader(sent))
	for err == nil {
		var record arrow.RecordBatch
		if record, err = in.Read(); err == nil {
			rows += int(record.NumRows())
		}
	}
	if errors.Is(err, io.EOF) || rows > 100 || len(sent) == 0 || len(sent) >= len(whole.body) {
		t.Errorf("%d of %d bytes: %d readings, then %v", len(sent), len(whole.body), rows, err)
	}
}

// TestArrow_RetriesChangedSchema stores a reading after the schema of an answer was chosen. The answer
// must contain this reading. If the schema changes each time, the error must permit a retry.
func TestArrow_RetriesChangedSchema(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	calls, changes := 0, 1
	s.store.set(&s.store.read, func(grid.Table) error {
		if calls++; calls > 1 && changes > 0 {
			changes--
			s.write(fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"late%d":true}}`, noon.Add(-time.Second).Format(time.RFC3339), calls))
		}
		return nil
	})
	r := s.get(with(readPath, "format", "arrow"))
	if all, _ := arrowRows(t, r.body); len(all) != 2 || !strings.Contains(schemaText(t, r.body), "late2 bool boolean") || calls != 4 {
		t.Errorf("%d readings, %d calls: %s", len(all), calls, schemaText(t, r.body))
	}
	changes = 100
	if r := s.get(with(readPath, "format", "arrow")); r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	} else {
		r.problem(http.StatusServiceUnavailable, "", "send the request again")
	}
}
