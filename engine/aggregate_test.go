package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestEngine_RecountsDueMarkers checks that an engine recounts the hours of due dirty markers, and
// reports the recount. The roll-ups must be the same at all times. With roll-ups off, the engine
// must process existing markers and write no new ones.
func TestEngine_RecountsDueMarkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int
		s := &lasting{Store: mem.New(nil)}
		events := engine.Events{Counted: func(n int, _ time.Duration, err error) {
			if told = append(told, n); err != nil {
				t.Error(err)
			}
		}}
		e := open(t, engine.Options{Store: s, Events: events})
		series := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
		write := func(e *engine.Engine, n int64) {
			req, err := e.Router.Admit()
			if err != nil {
				t.Fatal(err)
			}
			defer req.Done()
			readings := []varve.Reading{{Series: series, Time: e.Now(), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(n)}}}}
			verdicts := make([]varve.Verdict, 1)
			if err := req.Write(t.Context(), readings, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
				t.Fatalf("%v %s", err, verdicts[0])
			}
		}
		count := func(prefix string) int {
			page, err := s.Query(t.Context(), store.ItemQuery{PK: "ROLLUP#" + series.String(), From: prefix, To: store.PrefixEnd(prefix)})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Items)
		}
		for i := range int64(3) {
			write(e, i)
			wait(time.Minute)
		}
		for range 30 {
			p, err := e.Rollups.Read(t.Context(), rollup.Query{Series: series, Period: rollup.Hourly, Window: varve.AllTime()})
			if err != nil || len(p.Rollups) != 1 || p.Rollups[0].Readings != 3 {
				t.Fatalf("%+v, %v", p, err)
			}
			wait(10 * time.Minute)
		}
		if len(told) != 1 || told[0] != 1 || count("X#") != 0 || count("H#") != 1 || count("D#") != 1 {
			t.Errorf("told of %v, %d marks, %d hours, %d days", told, count("X#"), count("H#"), count("D#"))
		}
		write(e, 7)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		off := open(t, engine.Options{Store: s, NoRollups: true, Events: events})
		if write(off, 8); off.Rollups != nil || count("X#") != 1 {
			t.Errorf("off, there are %v and %d marks", off.Rollups, count("X#"))
		}
		if wait(3 * time.Hour); count("X#") != 0 {
			t.Error("off, marks stay")
		}
	})
}

// lasting is a store that remains open after an engine closes.
type lasting struct{ *mem.Store }

func (*lasting) Close() error { return nil }

func TestEngine_RetriesFailedCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New(nil)
		var errs []error
		open(t, engine.Options{Store: s, Events: engine.Events{Counted: func(_ int, _ time.Duration, err error) { errs = append(errs, err) }}})
		bad := store.Item{Key: store.Key{PK: "ROLLUP#bad", SK: "X#"}, GSI1: store.Key{PK: "DIRTY#03", SK: "0"}}
		if err := s.Put(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		wait(11 * time.Minute)
		if len(errs) != 2 || errors.Join(errs...) == nil {
			t.Errorf("told of %v", errs)
		}
	})
}

// TestEngine_KeepsTablesForRecount checks that roll-ups delay the drop of retired tables. Without
// roll-ups, only the policy's Grace delays it.
func TestEngine_KeepsTablesForRecount(t *testing.T) {
	for _, off := range []bool{false, true} {
		e := open(t, engine.Options{Store: mem.New(nil), Rotation: rotation(func(p *rotator.Policy) { p.Grace = time.Hour }), NoRollups: off})
		want := rollup.RecountWindow
		if off {
			want = 0
		}
		if p := e.Rotator.Policy(); p.RecountGrace != want || p.Grace != time.Hour {
			t.Errorf("without roll-ups %v: %s and %s", off, p.RecountGrace, p.Grace)
		}
	}
}
