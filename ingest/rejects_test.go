package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store/mem"
)

// newRejectWorld returns a world that stores rejects. The stream named clocks has a quarantine.
func newRejectWorld(t *testing.T, limit int) *world {
	t.Helper()
	now := func() time.Time { return noon }
	o := rejects.Options{Limit: limit, Retention: 24 * time.Hour, Quarantine: map[string]bool{"clocks": true}}
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(now), Now: now, Rejects: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{engine: e}
	w.Ingester = ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(1 << 20), Now: now, Rejects: e.Rejects, Door: "test"})
	return w
}

func (w *world) rejects(t *testing.T, q rejects.Query) []rejects.Reject {
	t.Helper()
	q.Tenant, q.Limit = varve.DefaultTenant, 1000
	page, err := w.engine.Rejects.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// TestRead_StoresRejects checks the text and the options of rejects, in each format.
func TestRead_StoresRejects(t *testing.T) {
	for _, c := range []struct {
		name   string
		format wire.Format
		body   string
		change func(*ingest.Source)
		want   []string // text, code and event time of each reject
	}{
		{"NDJSON", wire.NDJSON, "{\"device\":\"d1\",\"time\":\"2099-01-01T00:00:00Z\",\"fields\":{\"a\":1}}\n nonsense \n", nil, []string{
			`{"device":"d1","time":"2099-01-01T00:00:00Z","fields":{"a":1}} time_in_future 2099`, `nonsense malformed 1`,
		}},
		{"JSON array", wire.JSON, `[{"device":"d1","time":1475001526,"fields":{"a":1}}, {"device":"d1","time":"2026-11-21T11:00:00Z","fields":{"a":1}}]`, nil, []string{
			`{"device":"d1","time":1475001526,"fields":{"a":1}} time_unit 1`,
		}},
		{"line protocol", wire.Line, "weather,device=d1 a=1 4000000000000000000\n", nil, []string{"weather,device=d1 a=1 4000000000000000000 time_in_future 2096"}},
		{"CSV", wire.CSV, "device;time;a\nd1;2026-11-21T11:00:00Z;1\n\"d;1\";soon;\"x\ny\"\n", func(s *ingest.Source) { s.Columns.Delimiter = ';' }, []string{
			"\"d;1\";soon;\"x\ny\" time_invalid 1",
		}},
		{"long CSV", wire.CSV, "device,time,m,v\nd1,soon,a,1\nd1,soon,b,2\nd1,2026-11-21T11:00:00Z,b,2\n",
			func(s *ingest.Source) { s.Columns.Name, s.Columns.Value = "m", "v" }, []string{"d1,soon,a,1\nd1,soon,b,2 time_invalid 1"}},
		{"wide CSV", wire.CSV, "time,d1,d2\nsoon,1,2\n", func(s *ingest.Source) { s.Columns.DeviceColumns = "a" }, []string{"soon,1,2 time_invalid 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newRejectWorld(t, 100)
			s := w.begin(t, apikeys.Everything())
			src := source(c.format, c.body)
			src.From = "file.x"
			if c.change != nil {
				c.change(src)
			}
			if err := s.Read(t.Context(), src); err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, r := range w.rejects(t, rejects.Query{}) {
				got[fmt.Sprintf("%s %s %d", r.Text, r.Code, r.Time.Year())] = true
				header, _, _ := strings.Cut(c.body, "\n")
				if r.Stream != "weather" || r.Door != "test" || r.From != "file.x" || r.Format != c.format.Name() || !r.Replayable() {
					t.Errorf("%+v", r)
				}
				if c.format == wire.CSV && r.Header != header {
					t.Errorf("header %q, want %q", r.Header, header)
				}
			}
			for _, want := range c.want {
				if !got[want] {
					t.Errorf("missing: %s\nfound: %v", want, got)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%d rejects, want %d", len(got), len(c.want))
			}
		})
	}
}

const late = `{"device":"d1","time":"2099-01-01T00:00:00Z","fields":{"a":1}}`

// TestRead_Quarantines checks a stream with a quarantine. Readings with an unacceptable time must be stored as
// rejects before the verdict, which must name the reject. Beyond the limit, the verdict must have the code
// that the reading has without a quarantine.
func TestRead_Quarantines(t *testing.T) {
	w := newRejectWorld(t, 1)
	var verdicts []varve.Verdict
	read := func(body string) {
		s := w.begin1(t)
		defer s.Close()
		src := source(wire.NDJSON, body)
		src.Defaults.Stream = "clocks"
		src.Rejected = func(r ingest.Rejection) { verdicts = append(verdicts, *r.Verdict) }
		if err := s.Read(t.Context(), src); err != nil {
			t.Fatal(err)
		}
	}
	read(late)
	list := w.rejects(t, rejects.Query{Code: varve.CodeQuarantined})
	if len(list) != 1 || verdicts[0].Code != varve.CodeQuarantined || !strings.Contains(verdicts[0].Message, list[0].ID) {
		t.Fatalf("%v with rejects %+v", verdicts, list)
	}
	read(late)
	read(strings.Replace(late, "d1", "d2", 1))
	if verdicts[1].Code != varve.CodeQuarantined || verdicts[2].Code != varve.CodeTimeInFuture {
		t.Errorf("resent and beyond the limit: %v", verdicts[1:])
	}
}

// TestRead_FailsIfRejectsMustBeDurable checks that Read and RejectBody fail if a durable reject cannot
// be stored. In a quarantine without DurableRejects, the code of the verdict must be unavailable.
func TestRead_FailsIfRejectsMustBeDurable(t *testing.T) {
	w := newRejectWorld(t, 10)
	items := registrytest.New(func() time.Time { return noon })
	reg := rejects.New(rejects.Options{Items: items, Now: func() time.Time { return noon }, Limit: 10, Retention: time.Hour, Quarantine: map[string]bool{"clocks": true}})
	defer reg.Close()
	in := ingest.New(ingest.Options{Router: w.engine.Router, Budget: wire.NewBudget(1 << 20), Rejects: reg, Door: "mqtt"})
	s, err := in.Begin(apikeys.Everything())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	items.FailWrites(registrytest.FailOn(""))
	src := source(wire.NDJSON, lines(1)+late)
	src.DurableRejects = true
	if err := s.Read(t.Context(), src); !errors.Is(err, registrytest.ErrDisk) {
		t.Errorf("reading: %v", err)
	}
	if err := s.RejectBody(t.Context(), src, []byte{0xff}, errors.New("not a message")); !errors.Is(err, registrytest.ErrDisk) {
		t.Errorf("whole message: %v", err)
	}
	src = source(wire.NDJSON, late)
	src.Defaults.Stream = "clocks"
	src.Rejected = func(r ingest.Rejection) {
		if r.Verdict.Code != varve.CodeUnavailable {
			t.Errorf("quarantine: %s", r.Verdict)
		}
	}
	if err := s.Read(t.Context(), src); err != nil || s.Tally.Rejected != 1 {
		t.Errorf("quarantine: %v, %+v", err, s.Tally)
	}
	items.FailWrites(nil)
	if err := s.RejectBody(t.Context(), src, []byte{0xff}, errors.New("not a message")); err != nil {
		t.Fatal(err)
	}
	page, err := reg.List(t.Context(), rejects.Query{Tenant: varve.DefaultTenant})
	if err != nil || len(page.Items) != 1 || page.Items[0].Text != "\xff" || page.Items[0].Message != "not a message" || page.Items[0].Door != "mqtt" {
		t.Errorf("%+v %v", page, err)
	}
}
