package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/tests/varvetest"
)

// ledger records the readings that devices sent to the agent.
type ledger struct {
	mu    sync.Mutex
	sent  map[string]bool // the readings, by device and number; true if the agent acknowledged the reading
	acked atomic.Int64    // number of acknowledged readings
}

const start = 1_700_000_000

// send sends batches of new readings to the agent until the context ends. If a request fails, send
// resends the readings of the batch in about half of the cases, as some devices do.
func (l *ledger) send(ctx context.Context, c *client.Client, device string) {
	rng := rand.New(rand.NewPCG(uint64(len(device)), uint64(device[len(device)-1])))
	for n := 0; ctx.Err() == nil; {
		count := 1 + rng.IntN(20)
		var body strings.Builder
		l.mu.Lock()
		for i := range count {
			fmt.Fprintf(&body, `{"device":%q,"time":%d,"fields":{"n":%d}}`+"\n", device, (start+n+i)*1000, n+i)
			l.sent[fmt.Sprint(device, " ", n+i)] = false
		}
		l.mu.Unlock()
		answer, err := c.Write(ctx, "kills", client.Body{Data: []byte(body.String()), Format: wire.NDJSON})
		if err == nil && answer.Queued != int64(count) {
			panic(fmt.Sprintf("the agent answered %+v", answer))
		}
		switch {
		case err == nil:
			l.mu.Lock()
			for i := range count {
				l.sent[fmt.Sprint(device, " ", n+i)] = true
			}
			l.mu.Unlock()
			l.acked.Add(int64(count))
			n += count
		case rng.IntN(2) == 0:
			n += count
		}
	}
}

// TestKills_LoseNoReading kills the agent 200 times and the server 50 times. Meanwhile, devices
// send readings, and the agent compares confirmed readings. In the end, the server must have each
// acknowledged reading, and no reading twice.
func TestKills_LoseNoReading(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 8
	}
	if *killsFlag > 0 {
		kills = *killsFlag
	}
	end := time.Now().Add(*withinFlag)
	dir := t.TempDir()
	server := newServer(t, build(t, dir, "varve"), dir)
	edge := newAgent(t, build(t, dir, "varve-agent"), dir, server, "--set", "upload.every=20ms", "--set", "upload.max_wait=300ms", "--set", "upload.readings=50", "--set", "outbox.keep=1s")
	server.start(t)
	edge.start(t)
	c, err := client.New(edge.url(), client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{sent: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var devices sync.WaitGroup
	for d := range 3 {
		devices.Go(func() { l.send(ctx, c, fmt.Sprint("d", d)) })
	}
	done, servers := 0, 0
	for ; done < kills && time.Now().Before(end); done++ {
		from := l.acked.Load()
		if !varvetest.Eventually(func() bool { return l.acked.Load() >= from+40 }) {
			t.Fatalf("after %d kills, the agent accepts no readings:\n%s", done, edge.output.String())
		}
		if done%4 == 0 {
			server.kill()
			servers++
		}
		edge.kill()
		edge.start(t)
		if done%4 == 2 {
			server.start(t)
		}
	}
	stop()
	devices.Wait()
	server.kill()
	server.start(t)
	empties(t, edge.url())
	h, err := health(t.Context(), edge.url())
	if err != nil || h.Outbox.Dropped+h.Outbox.Damaged != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	compares(t, edge.url(), 1)
	found := l.compare(t, server.url())
	t.Logf("%d kills of the agent, %d of the server, %d readings acknowledged, %d stored", done, servers, l.acked.Load(), found)
	if l.acked.Load() < int64(20*done) || done < min(kills, 8) {
		t.Error("too little was sent to prove anything")
	}
}

// compare checks the readings on the server against the ledger, and returns the number of readings on the
// server.
func (l *ledger) compare(t *testing.T, url string) (found int) {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for d := range 3 {
		device := fmt.Sprint("d", d)
		for r, err := range c.Readings(t.Context(), client.Query{Stream: "kills", Device: device, Consistent: true}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			n := r.Field("n").String()
			seen[device+" "+n]++
			if want := varve.IntValue(r.Time.Unix() - start).String(); n != want {
				t.Errorf("%s at %s has n=%s, want %s", device, r.Time, n, want)
			}
			found++
		}
	}
	for key, n := range seen {
		if _, ok := l.sent[key]; n != 1 || !ok {
			t.Errorf("reading %s is stored %d times, sent: %t", key, n, ok)
		}
	}
	for key, acked := range l.sent {
		if acked && seen[key] == 0 {
			t.Errorf("reading %s was acknowledged and is lost", key)
		}
	}
	return found
}
