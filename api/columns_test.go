package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// rowsOnly exposes only the methods of store.Reader, so that pages have readings and no columns.
type rowsOnly struct{ store.Reader }

// twins are two servers over one embedded store. One reads columns, and the other one reads single
// readings.
type twins struct {
	t             *testing.T
	clock         time.Time
	engine        *engine.Engine
	columns, rows http.Handler
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	w := &twins{t: t, clock: noon.AddDate(0, 0, -80)}
	now := func() time.Time { return w.clock }
	st, err := local.Open(local.Options{Dir: t.TempDir(), Now: now, MemtableBytes: 16 << 10, ChunkReadings: 100, MaxLevel0: 2})
	if err != nil {
		t.Fatal(err)
	}
	policy := &retention.Policy{Prefix: "v", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 60 * 24 * time.Hour}}}
	rotation := engine.DefaultRotation()
	rotation.Retention = policy
	if w.engine, err = engine.Open(t.Context(), engine.Options{Store: st, Holder: "test", Now: now, Rotation: rotation}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	handler := func(reader store.Reader) http.Handler {
		e := w.engine
		q := query.New(query.Options{Reader: reader, Catalog: e.Store, Streams: e.Streams, Policy: policy, Now: now})
		return api.New(api.Options{
			Router: e.Router, Query: q, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store,
			Conditions: e.Conditions, Now: now, Metrics: prometheus.NewRegistry(),
		})
	}
	w.columns, w.rows = handler(st), handler(rowsOnly{st})
	return w
}

func (w *twins) send(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer
}

// randomValue returns a value as JSON, mostly a number. The argument "field" is the index of the field.
// It is also the number of decimal places of most numbers.
func randomValue(rng *rand.Rand, field int) string {
	switch rng.IntN(60) {
	case 0:
		return fmt.Sprintf(`"text %d, \"quoted\" é"`, rng.IntN(3))
	case 1:
		return fmt.Sprint(rng.IntN(2) == 0)
	case 2:
		return fmt.Sprintf(`{"a":[%d]}`, rng.IntN(3))
	case 3:
		return fmt.Sprintf("-%d.5000000000000000000000000%d", rng.IntN(100), rng.IntN(10))
	case 4:
		return fmt.Sprintf("%de%d", 1+rng.IntN(100), rng.IntN(80)-40)
	case 5:
		return "0.00"
	default:
		return fmt.Sprintf("%.*f", field, float64(rng.IntN(20_000)-1_000)/10)
	}
}

// ingest writes n readings of the last days. Some have their own ids, and some are duplicates or
// conflicts.
func (w *twins) ingest(rng *rand.Rand, n int) {
	w.t.Helper()
	var body strings.Builder
	unit := []time.Duration{time.Minute, time.Minute, time.Second, time.Millisecond, 1}[rng.IntN(5)]
	plain := rng.IntN(2) == 0 // if true, every reading has all fields, and only numbers
	base := w.clock.Add(-time.Duration(rng.IntN(72)) * time.Hour).Truncate(time.Hour)
	for i := range n {
		at := base.Add(-time.Duration(i) * unit)
		fmt.Fprintf(&body, `{"device":"d1","time":%q,`, at.Format(time.RFC3339Nano))
		switch rng.IntN(10) {
		case 0:
			fmt.Fprintf(&body, `"id":"own %d",`, i%7)
		case 1:
			fmt.Fprintf(&body, `"id":"4cGM%07d",`, i%7)
		}
		body.WriteString(`"fields":{`)
		for f := range 4 {
			switch {
			case plain:
				fmt.Fprintf(&body, `"f%d":%d.%d,`, f, i%50, f)
			case f == 0 || rng.IntN(4) > 0:
				fmt.Fprintf(&body, `"f%d":%s,`, f, randomValue(rng, f))
			}
		}
		fmt.Fprintf(&body, "\"always\":%d}}\n", i%3)
	}
	r := w.send(w.columns, http.MethodPost, writePath+"?format=ndjson", body.String())
	if r.Code != http.StatusOK && r.Code != http.StatusMultiStatus {
		w.t.Fatal(r.Code, r.Body)
	}
}

// randomPath returns the path of a query with a random window, order, limit and fields.
func (w *twins) randomPath(rng *rand.Rand, format string) string {
	params := []string{"format", format}
	if rng.IntN(2) == 0 {
		from := w.clock.Add(-time.Duration(rng.Int64N(int64(90 * 24 * time.Hour))))
		params = append(params, "from", from.Format(time.RFC3339Nano), "to", from.Add(time.Duration(rng.Int64N(int64(10*24*time.Hour)))).Format(time.RFC3339Nano))
	}
	if rng.IntN(2) == 0 {
		params = append(params, "order", "desc")
	}
	if rng.IntN(3) == 0 {
		params = append(params, "limit", fmt.Sprint(1+rng.IntN(500)))
	}
	if rng.IntN(3) == 0 {
		params = append(params, "fields", "f3,always,nope,f1")
	}
	return with(readPath, params...)
}

// TestColumns_AnswersEqualRows compares the answers from columns and from single readings byte by byte,
// on random readings that arrive over 80 days. Some arrive twice, some are conflicts, and some have
// expired.
func TestColumns_AnswersEqualRows(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newTwins(t)
		for w.clock.Before(noon) {
			w.ingest(rng, 50+rng.IntN(600))
			if rng.IntN(3) == 0 {
				w.clock = w.clock.Add(time.Duration(rng.IntN(20)) * 24 * time.Hour)
			}
			w.clock = w.clock.Add(time.Duration(rng.IntN(24)) * time.Hour)
		}
		for range 10 {
			for _, format := range []string{"json", "ndjson", "csv", "columns"} {
				w.compare(w.randomPath(rng, format))
			}
		}
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

// TestColumns_CountExpiredReadings reads columns that follow expired readings of the same table. In
// ascending order, all expired readings must count in the first page, although it ends with columns.
func TestColumns_CountExpiredReadings(t *testing.T) {
	w := newTwins(t)
	for _, batch := range []struct{ day, readings int }{{17, 300}, {22, 1000}} {
		w.clock = time.Date(2026, 11, batch.day, 12, 0, 0, 0, time.UTC)
		var body strings.Builder
		for i := range batch.readings {
			fmt.Fprintf(&body, "{\"device\":\"d1\",\"time\":%d,\"fields\":{\"v\":%d}}\n", w.clock.Add(time.Duration(i-batch.readings)*time.Minute).UnixMilli(), i)
		}
		if r := w.send(w.columns, http.MethodPost, writePath+"?format=ndjson", body.String()); r.Code != http.StatusOK {
			t.Fatal(r.Code, r.Body)
		}
	}
	w.clock = time.Date(2027, 1, 19, 12, 0, 0, 0, time.UTC) // by now, some readings have exceeded the retention of 60 days
	for _, params := range [][]string{{"limit", "299"}, {"limit", "450"}, {"limit", "450", "order", "desc"}, {"limit", "5000"}} {
		path := with(readPath, append(params, "format", "json")...)
		w.compare(path)
		first, sum := -1, 0
		for next := ""; ; {
			var page wire.ReadingsBody
			r := w.send(w.columns, http.MethodGet, path+next, "")
			if err := json.Unmarshal(r.Body.Bytes(), &page); err != nil {
				t.Fatal(err, r.Body)
			}
			if page.Coverage.Expiry != nil {
				sum += page.Coverage.Expiry.Readings
			}
			if first < 0 {
				first = sum
			}
			if page.Next == "" {
				break
			}
			next = "&cursor=" + page.Next
		}
		want := 300
		if slices.Contains(params, "desc") {
			want = 0
		}
		if first != want || sum != 300 {
			t.Errorf("%s: %d expired readings in the first page and %d in all, want %d and 300", path, first, sum, want)
		}
	}
}

// compare compares the first four pages of a query from both servers.
func (w *twins) compare(path string) {
	w.t.Helper()
	for next, pages := path, 0; next != "" && pages < 4; pages++ {
		got, want := w.send(w.columns, http.MethodGet, next, ""), w.send(w.rows, http.MethodGet, next, "")
		if got.Code != want.Code || got.Body.String() != want.Body.String() || fmt.Sprint(got.Header()) != fmt.Sprint(want.Header()) {
			w.t.Errorf("%s: %d %v\n%s\nwant %d %v", next, got.Code, got.Header(), firstDifference(got.Body.String(), want.Body.String()), want.Code, want.Header())
			return
		}
		cursor := got.Header().Get("Varve-Next")
		if cursor == "" && (strings.Contains(path, "format=json") || strings.Contains(path, "format=columns")) {
			_, text, _ := strings.Cut(got.Body.String(), `"next":"`)
			cursor, _, _ = strings.Cut(text, `"`)
		}
		if next = ""; cursor != "" {
			next = path + "&cursor=" + cursor
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d of %d and %d: %s\nwant %s", i, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// TestColumns_FormatHasArraysOfEqualLength checks the format "columns": exact numbers, null for a missing
// value, and fields that are named like the properties time, id and arrived.
func TestColumns_FormatHasArraysOfEqualLength(t *testing.T) {
	s := newServer(t, nil)
	s.write(`{"device":"d1","time":"2026-11-18T11:00:00Z","id":"a","fields":{"time":22.40,"x":12345678901234567890.10}}`,
		`{"device":"d1","time":"2026-11-18T11:01:00.5Z","id":"b","fields":{"id":"text","x":true}}`,
		`{"device":"d1","time":"2026-11-18T11:02:00Z","id":"c","fields":{"time":-1,"x":{"k":[1]}}}`)
	head := `{"time":["2026-11-18T11:00:00Z","2026-11-18T11:01:00.5Z","2026-11-18T11:02:00Z"],
"id":["a","b","c"],
"arrived":["2026-11-18T12:00:00Z","2026-11-18T12:00:00Z","2026-11-18T12:00:00Z"],
"fields":{
`
	rows := []struct{ path, want string }{
		{with(readPath, "format", "columns"), head + `"id":[null,"text",null],` + "\n" + `"time":[22.40,null,-1],` + "\n" + `"x":[12345678901234567890.10,true,{"k":[1]}]},"coverage":{`},
		{with(readPath, "format", "columns", "fields", "id,nope"), head + `"id":[null,"text",null],` + "\n" + `"nope":[null,null,null]},"coverage":{`},
		{with(readPath, "format", "columns", "limit", "1"), `{"time":["2026-11-18T11:00:00Z"],`},
		{with(readPath, "format", "columns", "to", "2020-01-01"), "{\"time\":[],\n\"id\":[],\n\"arrived\":[],\n\"fields\":{},\"coverage\":{"},
	}
	for _, row := range rows {
		r := s.get(row.path)
		if r.status != http.StatusOK || !strings.HasPrefix(r.body, row.want) || r.header.Get("Content-Type") != "application/vnd.varve.columns+json" {
			t.Errorf("%s: %d %s\n%s\nwant %s", row.path, r.status, r.header.Get("Content-Type"), r.body, row.want)
		}
	}
	if r := s.get(rows[2].path); decode[wire.ColumnsBody](r).Next == "" {
		t.Errorf("no cursor: %s", r.body)
	}
	if r := s.get(readPath, "Accept", "application/vnd.varve.columns+json"); !strings.HasPrefix(r.body, head) {
		t.Errorf("by Accept: %s", r.body)
	}
	s.send(http.MethodPost, writePath+"?format=columns", good(noon)).problem(http.StatusBadRequest, "query.format", "use json, ndjson, csv or line")
}

// TestColumns_FormatIsBounded checks that an answer that is too large is refused with remedies.
func TestColumns_FormatIsBounded(t *testing.T) {
	s := newServer(t, nil)
	long := strings.Repeat("x", 60_000)
	for i := range 141 {
		s.write(fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"text":%q}}`, noon.Add(-time.Duration(i)*time.Minute).Format(time.RFC3339), long))
	}
	s.get(with(readPath, "format", "columns")).problem(http.StatusBadRequest, "query.format", "more than 8 MiB")
	if r := s.get(with(readPath, "format", "columns", "limit", "100")); r.status != http.StatusOK {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}
