package changes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

var registries atomic.Int64

// onDynamoDB starts processes with stores of their own that share a registry.
func onDynamoDB(t TB, url string) *nodes {
	registry := fmt.Sprintf("changes%d", registries.Add(1))
	return newNodes(t, func(now func() time.Time) store.Store {
		s, err := dynamo.Open(context.Background(), dynamo.Options{Client: dynamotest.Client(url), Registry: registry, Now: now})
		if err != nil {
			t.Fatalf("%v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Fatalf("%v", err)
			}
		})
		return s
	})
}

// TestChanges_OfDynamoDB writes from three processes concurrently, while a consumer polls them in turn.
// Between the rounds, one process is killed. Together, the increments must contain all acknowledged
// readings, each exactly once.
func TestChanges_OfDynamoDB(t *testing.T) {
	for _, e := range []dynamotest.Emulator{dynamotest.StandIn, dynamotest.Dynoxide, dynamotest.Local} {
		t.Run(e.Name, func(t *testing.T) {
			if testing.Short() && e.Name != dynamotest.StandIn.Name {
				t.Skip("the stand-in is enough in a short test")
			}
			n := onDynamoDB(t, e.Start(t))
			defer n.close()
			c := n.readers[0]
			for round := range 3 {
				n.writeAtOnce(t, c)
				n.cuts[round].Store(true)
				// Close fails, so the record of the process stays.
				_ = n.all[round].engine.Close()
				n.cuts[round].Store(false)
				n.all[round].open()
				n.renew(n.all[round])
			}
			n.live(3*time.Minute, 0, 1, 2)
			n.pass(30 * time.Minute)
			n.live(3*time.Minute, 0, 1, 2)
			n.all[0].check(c)
			if len(c.got) != len(n.all[0].acked) || len(c.got) < 200 {
				t.Errorf("%d readings, want %d", len(c.got), len(n.all[0].acked))
			}
		})
	}
}

// TestChanges_AreTheWholeOfDynamo is TestChanges_AreTheWholeOfCluster with fewer sequences, on DynamoDB.
func TestChanges_AreTheWholeOfDynamo(t *testing.T) {
	randomtest.LimitChecks(t, 20)
	repeatRuns(t, func() {
		rapid.Check(t, func(t *rapid.T) {
			sim := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
			t.Cleanup(sim.Close)
			n := onDynamoDB(t, sim.URL)
			defer n.close()
			t.Repeat(n.steps())
			n.finish(t)
		})
	})
}

// writeAtOnce writes from all processes concurrently. Meanwhile the clock advances, the processes renew their
// records, and a consumer polls.
func (n *nodes) writeAtOnce(t *testing.T, c *consumer) {
	t.Helper()
	const writes = 12
	var group sync.WaitGroup
	var mu sync.Mutex
	var left atomic.Int64
	for i, w := range n.all {
		left.Add(1)
		var list [][]varve.Reading
		for k := range writes {
			at := w.clock.Add(-time.Duration(k*i) * time.Hour)
			list = append(list, []varve.Reading{w.reading(devices[k%3], at), w.reading(devices[(k+i)%3], at.Add(-time.Minute))})
		}
		group.Go(func() {
			defer left.Add(-1)
			for _, readings := range list {
				f := &flight{readings: readings, verdicts: make([]varve.Verdict, len(readings))}
				q, err := w.engine.Router.Admit()
				if err == nil {
					err = q.Write(context.Background(), readings, f.verdicts)
					q.Done()
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				w.record(f)
				mu.Unlock()
			}
		})
	}
	for i := 0; left.Load() > 0; i++ {
		n.all[0].pass(100 * time.Millisecond)
		n.renew(n.all[i%3])
		n.all[(i+1)%3].poll(c, 10)
	}
	group.Wait()
}

// TestChanges_IdlePollOnDynamoDB counts the requests of polls without changes, and the write units that the
// index needs for each reading. Both must stay within limits.
func TestChanges_IdlePollOnDynamoDB(t *testing.T) {
	sim := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
	defer sim.Close()
	n := onDynamoDB(t, sim.URL)
	defer n.close()
	w, c := n.all[0], n.readers[0]
	n.live(10*time.Minute, 0, 1, 2)
	w.check(c)
	for range 5 {
		n.live(30*time.Second, 0, 1, 2)
		before := usage(t, sim.URL)
		rows, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather, Since: c.cursor})
		if err != nil {
			t.Fatal(err)
		}
		if page, err := rows.Next(t.Context()); err != nil || len(page) > 0 {
			t.Fatalf("%d readings, %v: want none", len(page), err)
		}
		if !rows.Cursor().Since.After(c.cursor.Since) {
			t.Fatal("the cursor does not advance")
		}
		c.cursor = rows.Cursor()
		if requests := usage(t, sim.URL).Requests - before.Requests; requests > 2 {
			t.Errorf("an idle poll needs %d requests, want at most 2", requests)
		}
	}
	for _, load := range []struct {
		devices, perMinute int
		least, most        float64 // write units of the index for each reading
	}{{1, 1, 1.5, 2.2}, {20, 1, 0.9, 1.2}, {20, 10, 0.1, 0.25}} {
		plain, marked := n.unitsOf(t, sim.URL, false, load.devices, load.perMinute), n.unitsOf(t, sim.URL, true, load.devices, load.perMinute)
		t.Logf("%d devices with %d readings a minute: %.2f write units a reading, %.2f with the index", load.devices, load.perMinute, plain, marked)
		if extra := marked - plain; extra < load.least || extra > load.most {
			t.Errorf("%d devices with %d readings a minute: the index needs %.3f write units a reading, want %.2f to %.2f",
				load.devices, load.perMinute, extra, load.least, load.most)
		}
	}
}

// unitsOf writes readings of some devices for ten minutes. It returns the write units per reading.
func (n *nodes) unitsOf(t *testing.T, url string, indexed bool, count, perMinute int) float64 {
	t.Helper()
	const minutes = 10
	w := n.all[0]
	w.indexed = true
	writeAll := func() {
		for d := range count {
			list := make([]varve.Reading, perMinute)
			for i := range list {
				list[i] = w.reading(fmt.Sprint("d", d), w.clock.Add(time.Duration(i)*time.Millisecond))
			}
			w.send(0, list...)
		}
	}
	writeAll() // the first writes also register devices, so they are not counted
	w.indexed = indexed
	before := usage(t, url)
	for range minutes {
		n.live(time.Minute, 0)
		writeAll()
	}
	units := usage(t, url).writes(before) - 2*2*minutes // without the renewals of records: two rounds in each half minute
	w.indexed = true
	return units / float64(minutes*count*perMinute)
}

// usage returns the requests and units of a stand-in for DynamoDB.
func usage(t *testing.T, url string) (u usageOf) {
	t.Helper()
	resp, err := http.Get(url + "/usage")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&u.Usage); err != nil {
		t.Fatal(err)
	}
	return u
}

type usageOf struct{ dynamosim.Usage }

func (u usageOf) writes(before usageOf) (units float64) {
	for _, table := range u.Tables {
		units += table.WriteUnits
	}
	for _, table := range before.Tables {
		units -= table.WriteUnits
	}
	return units
}
