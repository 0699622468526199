package rollup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// timed returns the duration of a read.
func timed(t *testing.T, r *rollup.Reader, q rollup.Query) time.Duration {
	t.Helper()
	begun := time.Now()
	if _, err := r.Read(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

// TestFields_AreCountedInLinearTime recounts an hour of readings with 256 unique fields each. A recount
// that exceeds the time limit may take at most twelve times as long as one of a quarter of the readings. A
// query for one field must return only that field.
func TestFields_AreCountedInLinearTime(t *testing.T) {
	const readings, limit = 400, 10 * time.Second
	r, q := counting(t, time.Hour, readings, distinct(256))
	begun := time.Now()
	all, err := r.Read(t.Context(), q)
	if err != nil || len(all.Rollups) != 1 {
		t.Fatalf("%d roll-ups, %v", len(all.Rollups), err)
	}
	if p := &all.Rollups[0]; p.Readings != readings || len(p.Fields) != 256*readings {
		t.Errorf("%d readings of %d fields", p.Readings, len(p.Fields))
	}
	took, quarter := time.Since(begun), time.Hour
	few, fewer := counting(t, time.Hour, readings/4, distinct(256))
	for try := 0; took > limit && (try == 0 || took > 12*quarter) && try < 4; try++ { // other work may delay a read
		quarter = min(quarter, timed(t, few, fewer))
		if took > 12*quarter {
			took = min(took, timed(t, r, q))
		}
	}
	if took > limit && took > 12*quarter {
		t.Errorf("it took %s, and a quarter of the readings %s", took, quarter)
	}
	q.Fields = distinct(256)(7)[3:4]
	if one, err := r.Read(t.Context(), q); err != nil || len(one.Rollups[0].Fields) != 1 || one.Rollups[0].Field(q.Fields[0]).Count != 1 {
		t.Errorf("%+v, %v", one.Rollups, err)
	}
	q.Period = rollup.Hourly
	if again, err := r.Read(t.Context(), q); err != nil || len(again.Rollups) != 1 {
		t.Errorf("%d roll-ups, %v", len(again.Rollups), err)
	}
}

// wide returns a reading with 256 fields that no other reading has. Each name has 70 bytes.
func (w *world) wide(at time.Time) varve.Reading {
	r := w.reading("a", at)
	r.Fields = nil
	for j := range varve.MaxFields {
		name := fmt.Sprintf("f%03d_%03d_%s", j, w.made, strings.Repeat("x", 61))
		r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.NumberValue(powerOfTwo(100 + j%20))})
	}
	return r
}

// sendWide sends n wide readings whose event times are four minutes apart.
func (w *world) sendWide(n int) (sent []varve.Reading) {
	w.t.Helper()
	for range n {
		r := w.wide(w.clock)
		if v := w.send(0, nil, r); v[0].Outcome != varve.Stored {
			w.t.Fatalf("%v", v)
		}
		sent = append(sent, r)
		w.clock = w.clock.Add(4 * time.Minute)
	}
	return sent
}

// checkWide compares the only roll-up of each period with the sent readings, which have no field
// in common.
func checkWide(t *testing.T, what string, r *rollup.Reader, sent []varve.Reading) {
	t.Helper()
	for _, period := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		page, err := r.Read(t.Context(), rollup.Query{Series: sent[0].Series, Period: period, Window: varve.AllTime()})
		if err != nil || len(page.Rollups) != 1 || page.Rollups[0].Readings != int64(len(sent)) {
			t.Fatalf("%s, %s: %d roll-ups, %v", what, period, len(page.Rollups), err)
		}
		p, fields := &page.Rollups[0], 0
		for i := range sent {
			at := sent[i].Position().Time
			for _, want := range sent[i].Fields {
				f := p.Field(want.Name)
				if f == nil || f.Count != 1 || plain(&f.Sum) != whole(want.Value.Number()) || f.First.At.Time != at || f.First != f.Last {
					t.Fatalf("%s, %s: %s: %+v", what, period, want.Name, f)
				}
				fields++
			}
		}
		if len(p.Fields) != fields {
			t.Errorf("%s, %s: %d fields, want %d", what, period, len(p.Fields), fields)
		}
	}
}

// TestFields_ExceedItemOnDynamoDB aggregates an hour with more fields than fit into a DynamoDB
// item. Its markers must be deleted afterward, so that no table stays in use.
func TestFields_ExceedItemOnDynamoDB(t *testing.T) {
	d := newOnDynamo(t, time.Date(2026, 11, 20, 9, 0, 30, 0, time.UTC))
	reader := rollup.NewReader(d.store, d.source, d.resent)
	sent := d.sendWide(12)
	checkWide(t, "marked", reader, sent)
	d.clock = d.clock.Add(3 * time.Hour)
	for d.run() > 0 {
	}
	if n, err := d.aggregator.Backlog(t.Context()); err != nil || n != 0 || d.markers == 0 {
		t.Errorf("%d markers are left, %d were taken, %v", n, d.markers, err)
	}
	checkWide(t, "at rest", reader, sent)
	needed, err := d.aggregator.TablesInUse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	infos, err := d.store.Tables(t.Context(), store.Filter{Any: true, Prefixes: []string{"v"}, Window: varve.AllTime()})
	if err != nil || len(infos) == 0 {
		t.Fatalf("%d tables, %v", len(infos), err)
	}
	for _, in := range infos {
		if why := needed(in.Table, d.clock); why != "" {
			t.Errorf("%s: %s", in.Name(), why)
		}
	}
}

// TestParts_TornWriteIsNotRead stops an aggregator after some items of a partial are written, in
// either order. Reads must ignore the written items, and the next aggregator must recount
// everything.
func TestParts_TornWriteIsNotRead(t *testing.T) {
	const items = 4               // number of items of the partial of the hour, which has 2,560 fields
	for torn := range 2 * items { // each item in either order
		w := newWorld(t)
		m, reader := &steps{world: w}, rollup.NewReader(w.store, w.source(w.now), w.resent)
		sent := w.sendWide(5)
		w.clock = w.clock.Add(3 * time.Hour)
		m.finish()
		for range 5 { // late readings of the same hour
			r := w.wide(sent[0].Time.Add(time.Duration(len(sent)) * time.Second))
			w.send(0, nil, r)
			sent = append(sent, r)
		}
		w.clock = w.clock.Add(3 * time.Hour)
		w.store.torn, w.store.backwards = torn/2+1, torn%2 == 0
		if _, err := w.aggregator(0).Run(t.Context()); err == nil {
			t.Fatalf("it did not die after %d items", torn/2)
		}
		m.heal()
		checkWide(t, fmt.Sprint("torn after ", torn/2), reader, sent)
		w.clock = w.clock.Add(time.Hour)
		m.finish()
		checkWide(t, "at rest", reader, sent)
	}
}

func TestParts_MissingPartFailsRead(t *testing.T) {
	w := newWorld(t)
	reader := rollup.NewReader(w.store, w.source(w.now), w.resent)
	sent := w.sendWide(12)
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	page, err := w.store.Query(t.Context(), itemsOf("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range page.Items {
		if strings.HasSuffix(it.SK, "#0001") {
			if err := w.store.Delete(t.Context(), it.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, period := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		_, err := reader.Read(t.Context(), rollup.Query{Series: sent[0].Series, Period: period, Window: varve.AllTime()})
		if err == nil || !strings.Contains(err.Error(), "part 1 of") || !strings.Contains(err.Error(), "2026-11-28T") {
			t.Errorf("%s: %v", period, err)
		}
	}
}
