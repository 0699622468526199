package records_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a receiver over an engine in memory.
type world struct {
	*records.Receiver
	t      *testing.T
	engine *engine.Engine
}

func clock() time.Time { return noon }

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOver(t, mem.New(clock))
}

func newWorldOver(t *testing.T, s store.Store) *world {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{
		Store: s, Now: clock, Rejects: rejects.Options{Limit: 1000, Retention: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	in := ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(1 << 20), Now: clock, Rejects: e.Rejects, Door: "test"})
	return &world{t: t, engine: e, Receiver: &records.Receiver{Ingester: in, Now: clock}}
}

func target(t *testing.T, params string) *records.Target {
	t.Helper()
	q, err := url.ParseQuery(params)
	if err != nil {
		t.Fatal(err)
	}
	target, err := records.ParseTarget(varve.DefaultTenant, q)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// list returns one record for each text. Record.From has the index of the record.
func list(data ...string) (all []records.Record) {
	for i, text := range data {
		all = append(all, records.Record{Data: []byte(text), From: fmt.Sprint("record ", i), At: noon.Add(time.Duration(i) * time.Millisecond)})
	}
	return all
}

func (w *world) store(t *records.Target, list []records.Record) wire.Tally {
	w.t.Helper()
	tally, err := w.Store(w.t.Context(), apikeys.Everything(), t, list)
	if err != nil {
		w.t.Fatal(err)
	}
	return tally
}

func (w *world) rejects() (all []string) {
	w.t.Helper()
	page, err := w.engine.Rejects.List(w.t.Context(), rejects.Query{Tenant: varve.DefaultTenant, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range page.Items {
		all = append(all, fmt.Sprint(r.From, " ", r.Code, " ", r.Text))
	}
	slices.Sort(all)
	return all
}

// times returns the times of the readings of device d1, as milliseconds since one hour before noon.
func (w *world) times() (all []int64) {
	w.t.Helper()
	rows, err := w.engine.Query.Open(w.t.Context(), query.Query{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"}, Window: varve.Window{From: noon.Add(-24 * time.Hour), To: noon.Add(time.Hour)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for {
		readings, err := rows.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if len(readings) == 0 {
			return all
		}
		for i := range readings {
			all = append(all, readings[i].Time.Sub(noon.Add(-time.Hour)).Milliseconds())
		}
	}
}

// object returns a reading whose time is one hour before noon, plus n milliseconds.
func object(n int) string {
	return fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":%d}}`, noon.Add(-time.Hour).UnixMilli()+int64(n), n)
}

// TestStore_ReadsForms stores records in each accepted format. Invalid parts must become rejects of
// their record, and must not affect other records.
func TestStore_ReadsForms(t *testing.T) {
	pretty := strings.NewReplacer(",", ",\n  ", "{", "{\n").Replace(object(3))
	line := func(n int) string {
		return fmt.Sprintf("weather,device=d1 a=%d %d", n, noon.Add(-time.Hour).Add(time.Duration(n)*time.Millisecond).UnixNano())
	}
	for _, c := range []struct {
		name, params string
		records      []string
		stored       []int64
		rejected     []string
	}{
		{"objects", "stream=weather", []string{object(1), "  " + object(2) + "\n", "", pretty}, []int64{1, 2, 3}, nil},
		{"array", "stream=weather", []string{"[" + object(1) + ",\n" + pretty + "]", "[]", object(4)}, []int64{1, 3, 4}, nil},
		{"several objects", "stream=weather", []string{object(1) + object(2) + "[" + object(3) + "]"}, []int64{1, 2, 3}, nil},
		{"unreadable record", "stream=weather", []string{object(1), `{"device":`, object(2), "\xff\x00"}, []int64{1, 2}, []string{
			`record 1 malformed {"device":`, "record 3 malformed \xff\x00",
		}},
		{"unreadable lines", "stream=weather", []string{object(1) + "\nnonsense\n" + object(2), "{\nnon\nsense"}, []int64{1, 2}, []string{
			"record 0 malformed nonsense", "record 1 malformed { non sense",
		}},
		{"invalid element", "stream=weather", []string{"[5," + object(1) + "]"}, []int64{1}, []string{"record 0 malformed 5"}},
		{"NDJSON", "stream=weather&format=ndjson", []string{object(1) + "\n" + object(2), "nonsense", object(3)}, []int64{1, 2, 3}, []string{"record 1 malformed nonsense"}},
		{"line protocol", "format=line", []string{line(1) + "\n" + line(2), "weather a=1", line(3)}, []int64{1, 2, 3}, []string{"record 1 device_invalid weather a=1"}},
		{"open quote", "format=line", []string{line(1), `weather,device=d1 a="open`, `weather,device=d1 b="x",a=2i ` + line(2)[len("weather,device=d1 a=2 "):], line(3)},
			[]int64{1, 2, 3}, []string{`record 1 malformed weather,device=d1 a="open`}},
		{"without a time", "stream=weather&time=arrival", []string{`{"device":"d1","fields":{"a":1}}`, `{"device":"d1","fields":{"a":1}}`}, []int64{3_600_000, 3_600_001}, nil},
		{"points without a time", "format=line", []string{"weather,device=d1 a=1", "weather,device=d1 a=1", line(1)}, []int64{1, 3_600_000, 3_600_001}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			tally := w.store(target(t, c.params), list(c.records...))
			if got := w.times(); !slices.Equal(got, c.stored) || tally.Stored != int64(len(c.stored)) {
				t.Errorf("the readings are at %v, want %v: %+v", got, c.stored, tally)
			}
			if got := w.rejects(); !slices.Equal(got, c.rejected) || tally.Rejected != int64(len(c.rejected)) {
				t.Errorf("the rejects are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.rejected, "\n"))
			}
			// A retry must not change anything.
			if again := w.store(target(t, c.params), list(c.records...)); again.Stored != 0 || again.Duplicates != tally.Stored {
				t.Errorf("a retry: %+v after %+v", again, tally)
			}
		})
	}
}

// TestStore_ReadsAfterInvalidLines stores a record with 220,000 invalid lines and a valid one at its end. The
// valid line must be stored. The test stores no rejects, because that would take long.
func TestStore_ReadsAfterInvalidLines(t *testing.T) {
	w := newWorld(t)
	w.Ingester = ingest.New(ingest.Options{Router: w.engine.Router, Budget: wire.NewBudget(1 << 20), Now: clock, Door: "test"})
	const invalid = 220_000
	tally := w.store(target(t, "stream=weather&format=ndjson"), list(strings.Repeat("x\n", invalid)+object(1)))
	if tally.Rejected != invalid || !slices.Equal(w.times(), []int64{1}) {
		t.Errorf("%+v at %v, want all lines read", tally, w.times())
	}
}

// unregistered is a store that cannot register streams and devices.
type unregistered struct{ store.Store }

func (unregistered) Put(context.Context, store.Item, ...store.Cond) error {
	return errors.New("throttled")
}

// TestStore_RetriesBeforeReject checks that a record whose end is unreadable is retried while a reading
// in it is unavailable.
func TestStore_RetriesBeforeReject(t *testing.T) {
	w := newWorldOver(t, unregistered{mem.New(clock)})
	data := object(1) + "\n" + strings.Repeat("x", 34<<20)
	_, err := w.Store(t.Context(), apikeys.Everything(), target(t, "stream=weather&format=ndjson"), list(data))
	if varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("%v, want an error to retry", err)
	}
}

// TestStore_KeepsRecordsThatAreErrors checks that a record with Record.Err becomes a reject.
func TestStore_KeepsRecordsThatAreErrors(t *testing.T) {
	w := newWorld(t)
	all := list("%%", object(1))
	all[0].Err = errors.New("illegal base64 data")
	tally := w.store(target(t, "stream=weather"), all)
	if got := w.rejects(); tally.Stored != 1 || tally.Rejected != 1 || !slices.Equal(got, []string{"record 0 malformed %%"}) {
		t.Errorf("%+v and %q", tally, got)
	}
}

func TestParseTarget_RefusesMistakes(t *testing.T) {
	for params, param := range map[string]string{
		"": "stream", "stream=_x!": "stream", "stream=a&format=csv": "format", "stream=a&format=xml": "format",
		"stream=a&precision=x": "precision", "stream=a&precision=h": "precision", "stream=a&precision=auto&format=ndjson": "precision", "stream=a&time=never": "time", "stream=a&color=red": "color",
	} {
		q, err := url.ParseQuery(params)
		if err != nil {
			t.Fatal(err)
		}
		var e *varve.Error
		if _, err := records.ParseTarget(varve.DefaultTenant, q); !errors.As(err, &e) || e.Param != param || e.Failure != varve.Invalid {
			t.Errorf("%q: %v, want an error about %s", params, err, param)
		}
	}
}
