package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/storetest"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

// past is an engine with a record of its answers. The test later compares them with answers to the
// same questions as of the recorded times.
type past struct {
	t     interface{ Fatalf(string, ...any) }
	draw  func(label string, n int) int // draws a number from 0 to n-1
	clock time.Time
	// shared is the clock for the goroutines of the engine.
	shared atomic.Pointer[time.Time]
	e      *engine.Engine
	sent   []varve.Reading
	asked  []*question
	// whole, part and none count the answers that were compared as a whole, in part, or not at all.
	whole, part, none int
}

// question is a query with the answer that it had at a time. The function "ask" returns lines with their
// event times, and the time from which they are complete.
type question struct {
	at     time.Time
	name   string
	ask    func(asOf time.Time) (lines []line, c *query.AsOf, err error)
	answer []line
}

type line struct {
	at   time.Time
	text string
}

func openPast(t interface{ Fatalf(string, ...any) }, retention time.Duration, openStore func(now func() time.Time) (store.Store, error)) *past {
	p := &past{t: t}
	p.setClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	now := func() time.Time { return *p.shared.Load() }
	s, err := openStore(now)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p.e, err = engine.Open(context.Background(), engine.Options{
		Store: s, Now: now, Holder: "test", Schedule: "@yearly", Parallel: 2, Rotation: rotation(func(r *rotator.Policy) {
			r.Drop, r.Grace, r.Retention.Classes[0].Retention = true, time.Hour, retention
		}),
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func (p *past) close() {
	if err := p.e.Close(); err != nil {
		p.t.Fatalf("%v", err)
	}
}

// step performs a random action: it writes readings, waits, runs the background jobs, asks a
// question, or repeats the recorded questions.
func (p *past) step() {
	switch p.draw("step", 8) {
	case 0, 1, 2:
		p.write()
	case 3:
		p.wait()
	case 4:
		p.maintain()
	case 5, 6:
		p.ask()
	default:
		p.askAgain()
	}
}

// write sends current, late, early and resent readings, and readings with the id of another reading.
func (p *past) write() {
	var list []varve.Reading
	for range 1 + p.draw("readings", 30) {
		kind := p.draw("kind", 10)
		if kind < 3 && len(p.sent) > 0 {
			r := p.sent[p.draw("which", len(p.sent))].Clone()
			if kind == 0 {
				r.Fields[0].Value = varve.IntValue(int64(p.draw("value", 5)))
			}
			if kind == 1 {
				if r.ID.IsZero() {
					r.ID = r.ContentID()
				}
				r.Fields[0].Value = varve.IntValue(int64(p.draw("corrected", 100)))
				r.ID = r.ID.WithVersion(uint32(p.draw("version", 12)))
			}
			list = append(list, r)
			continue
		}
		ago := []time.Duration{0, time.Minute, time.Hour, 26 * time.Hour, 9 * 24 * time.Hour, 40 * 24 * time.Hour, -time.Hour}[p.draw("ago", 7)]
		r := varve.Reading{
			Series: pastSeries(p.draw("device", 2)), Time: p.clock.Add(-ago + time.Duration(p.draw("ms", 5000))*time.Millisecond),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(p.draw("value", 100)))}},
		}
		if p.draw("own id", 2) == 0 {
			r.ID, _ = varve.ParseID(fmt.Sprint("id", len(p.sent)+len(list)))
		}
		list = append(list, r)
	}
	q, err := p.e.Router.Admit()
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	defer q.Done()
	sent := make([]varve.Reading, len(list))
	for i := range list {
		sent[i] = list[i].Clone()
	}
	verdicts := make([]varve.Verdict, len(list))
	if err := q.Write(context.Background(), list, verdicts); err != nil {
		p.t.Fatalf("%v", err)
	}
	p.sent = append(p.sent, sent...)
	p.setClock(p.clock.Add(time.Duration(p.draw("pause", 2)) * time.Millisecond))
}

func pastSeries(i int) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: []string{"weather", "climate"}[i%2], Device: fmt.Sprint("d", i)}
}

func (p *past) wait() {
	switch i := p.draw("wait", 6); i {
	case 5:
		p.setClock(grid.MonthOf(p.clock).End())
	default:
		p.setClock(p.clock.Add([]time.Duration{time.Millisecond, time.Minute, 3 * time.Hour, 24 * time.Hour, 9 * 24 * time.Hour}[i]))
	}
}

func (p *past) maintain() {
	if _, err := p.e.Rotator.Run(context.Background()); err != nil {
		p.t.Fatalf("%v", err)
	}
	if _, err := p.e.Aggregator.Run(context.Background()); err != nil {
		p.t.Fatalf("%v", err)
	}
}

// setClock sets the clock, for the test and for the engine.
func (p *past) setClock(at time.Time) {
	p.clock = at
	p.shared.Store(&at)
}

// ask draws a question, and records its present answer. The next reading arrives a millisecond
// later.
func (p *past) ask() {
	series := pastSeries(p.draw("device", 2))
	w := varve.AllTime()
	if p.draw("window", 2) == 0 {
		w.From = p.clock.Add(-time.Duration(p.draw("from", 60*24)) * time.Hour).Truncate(24 * time.Hour)
		w.To = w.From.Add(time.Duration(1+p.draw("hours", 40)) * 24 * time.Hour)
	}
	q := &question{at: p.clock}
	switch p.draw("question", 6) {
	case 0, 1:
		q.name, q.ask = "readings", p.readings(query.Query{Series: series, Window: w, Order: varve.Order(p.draw("order", 2))})
	case 2:
		q.name, q.ask = "latest", p.latest(query.LatestQuery{Series: series, By: varve.By(p.draw("by", 2))})
	case 3:
		q.name, q.ask = "aggregate", p.aggregate(series, w, aggregate.FromReadings)
	case 4:
		q.name, q.ask = "roll-ups in days", p.aggregate(series, w, aggregate.FromRollups)
	default:
		q.name, q.ask = "roll-ups", p.rollups(rollup.Query{Series: series, Window: w, Period: rollup.Hourly + rollup.Period(p.draw("period", 2)), Limit: 1 + p.draw("limit", 9)})
	}
	var err error
	if q.answer, _, err = q.ask(time.Time{}); err != nil {
		p.t.Fatalf("%s: %v", q.name, err)
	}
	p.asked = append(p.asked, q)
	p.setClock(p.clock.Add(time.Millisecond))
}

// askAgain repeats the recorded questions as of their times. For the event times for which an
// answer is complete, it must equal the recorded answer.
func (p *past) askAgain() {
	for _, q := range p.asked {
		lines, c, err := q.ask(q.at)
		if err != nil {
			if !strings.HasPrefix(q.name, "roll-ups") || varve.FailureOf(err) != varve.Invalid {
				p.t.Fatalf("%s as of %s: %v", q.name, q.at, err)
			}
			p.none++ // roll-ups have no answer as of a day of arrival whose readings are deleted
			continue
		}
		from := varve.AllTime().From
		if c != nil {
			if !c.Time.Equal(q.at) {
				p.t.Fatalf("the coverage is as of %s, want %s", c.Time, q.at)
			}
			from = c.CompleteFrom
		}
		want := q.answer
		early := func(found []line) bool { return len(found) > 0 && found[0].at.Before(from) }
		if q.name == "latest" && (early(want) || early(lines)) {
			p.none++ // a reading or its first copy has expired, so the answer may differ
			continue
		}
		got, wanted := textFrom(lines, from), textFrom(want, from)
		if !slices.Equal(got, wanted) {
			p.t.Fatalf("%s as of %s, now %s, from %s:\n got %s\nwant %s", q.name, q.at, p.clock, from, strings.Join(got, "\n     "), strings.Join(wanted, "\n     "))
		}
		switch {
		case len(wanted) == 0:
		case len(wanted) == len(want):
			p.whole++
		default:
			p.part++
		}
	}
}

func textFrom(lines []line, from time.Time) (texts []string) {
	for _, l := range lines {
		if !l.at.Before(from) {
			texts = append(texts, l.text)
		}
	}
	return texts
}

func lineOf(r *varve.Reading) line {
	return line{r.Time, fmt.Sprintf("%s arrived %s %v", r, r.Arrived.Format(time.RFC3339Nano), r.Fields)}
}

func (p *past) readings(q query.Query) func(time.Time) ([]line, *query.AsOf, error) {
	return func(asOf time.Time) (lines []line, c *query.AsOf, err error) {
		q := q
		q.AsOf = asOf
		rows, err := p.e.Query.Open(context.Background(), q)
		if err != nil {
			return nil, nil, err
		}
		defer rows.Close()
		for {
			part, err := rows.NextPart(context.Background())
			if err != nil || part.IsEnd() {
				return lines, rows.Coverage().AsOf, err
			}
			var r varve.Reading
			for i := range part.Columns {
				for k := range part.Columns[i].Len() {
					part.Columns[i].Fill(part.Columns[i].Row(k), &r)
					lines = append(lines, lineOf(&r))
				}
			}
			for i := range part.Readings {
				lines = append(lines, lineOf(&part.Readings[i]))
			}
		}
	}
}

func (p *past) latest(q query.LatestQuery) func(time.Time) ([]line, *query.AsOf, error) {
	return func(asOf time.Time) ([]line, *query.AsOf, error) {
		q := q
		q.AsOf = asOf
		a, err := p.e.Query.Latest(context.Background(), q)
		if err != nil || !a.Found {
			return nil, a.Coverage.AsOf, err
		}
		return []line{lineOf(&a.Reading)}, a.Coverage.AsOf, nil
	}
}

func (p *past) aggregate(series varve.Series, w varve.Window, source aggregate.Source) func(time.Time) ([]line, *query.AsOf, error) {
	step, _ := aggregate.ParseStep("1d", time.UTC)
	functions, _ := aggregate.ParseFunctions([]string{"sum", "min", "last"})
	agg := aggregate.New(aggregate.Options{Readings: p.e.Query, Rollups: p.e.Rollups})
	return func(asOf time.Time) (lines []line, c *query.AsOf, err error) {
		a, err := agg.Run(context.Background(), aggregate.Query{
			Tenant: series.Tenant, Stream: series.Stream, Devices: []string{series.Device}, Window: w, Step: step, Functions: functions, Source: source, AsOf: asOf,
		})
		if err != nil {
			return nil, nil, err
		}
		for _, r := range a.Rows {
			lines = append(lines, line{time.Unix(r.Start, 0), fmt.Sprintf("%d: %d %v", r.Start, r.Readings, r.Fields)})
		}
		return lines, a.Coverage.AsOf, nil
	}
}

func (p *past) rollups(q rollup.Query) func(time.Time) ([]line, *query.AsOf, error) {
	return func(asOf time.Time) (lines []line, c *query.AsOf, err error) {
		q := q
		q.AsOf = asOf
		for {
			page, err := p.e.Rollups.Read(context.Background(), q)
			if err != nil {
				return nil, nil, err
			}
			for _, r := range page.Rollups {
				f := r.Field("v")
				lines = append(lines, line{r.Start, fmt.Sprintf("%s: %d %d %s %s %s %v %v", r.Start, r.Readings, f.Count, &f.Sum, f.Min, f.Max, f.First, f.Last)})
			}
			if page.Next.IsZero() {
				return lines, nil, nil
			}
			q.Window.From = page.Next
		}
	}
}

// columnStore is a store that returns readings as columns.
type columnStore struct{ *mem.Store }

func (s columnStore) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return storetest.ReadBlocks(ctx, s, r, dst)
}

// openStores are the stores whose answers as of earlier times are tested.
var openStores = map[string]func(now func() time.Time) (store.Store, error){
	"mem":     func(now func() time.Time) (store.Store, error) { return mem.New(now), nil },
	"columns": func(now func() time.Time) (store.Store, error) { return columnStore{mem.New(now)}, nil },
	"local": func(now func() time.Time) (store.Store, error) {
		return local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Now: now, MinFree: -1, MemtableBytes: 2 << 10, ChunkReadings: 8, MaxLevel0: 2})
	},
}

// TestAsOf_RepeatsAnswers records answers between random writes, and repeats the questions later as
// of their times. The answers must be equal wherever they are complete.
func TestAsOf_RepeatsAnswers(t *testing.T) {
	for name, openStore := range openStores {
		t.Run(name, func(t *testing.T) {
			whole, part := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				retention := []time.Duration{4000 * 24 * time.Hour, 20 * 24 * time.Hour}[rapid.IntRange(0, 1).Draw(t, "retention")]
				p := openPast(t, retention, openStore)
				defer p.close()
				p.draw = func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
				for range rapid.IntRange(10, 90).Draw(t, "steps") {
					p.step()
				}
				p.askAgain()
				whole, part = whole+p.whole, part+p.part
			})
			if whole < 100 || part < 1 {
				t.Errorf("%d answers were compared as a whole, and %d in part", whole, part)
			}
		})
	}
}

// TestAsOf_RepeatsAnswersOfDynamo is TestAsOf_RepeatsAnswers with fewer actions, on DynamoDB.
func TestAsOf_RepeatsAnswersOfDynamo(t *testing.T) {
	for seed := range uint64(2) {
		server := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
		p := openPast(t, []time.Duration{4000 * 24 * time.Hour, 20 * 24 * time.Hour}[seed%2], func(now func() time.Time) (store.Store, error) {
			return dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(server.URL), Registry: fmt.Sprint("asof", seed), Now: now})
		})
		rng := rand.New(rand.NewPCG(seed, 1))
		p.draw = func(_ string, n int) int { return rng.IntN(n) }
		for range 120 {
			p.step()
		}
		p.askAgain()
		if p.whole < 50 {
			t.Errorf("seed %d: only %d answers were compared as a whole", seed, p.whole)
		}
		p.close()
		server.Close()
	}
}
