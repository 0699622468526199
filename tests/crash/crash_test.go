package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/tests/varvetest"
)

// retentionDays is the retention of the service under test.
const retentionDays = 40

// configuration has a short retention and grace, so that tables are created and dropped many times
// during one test.
const configuration = `
store: {memory: 256KiB, min_free: 0}
tables: {future: 48h}
retention: {drop: true, grace: 1d}
classes: {default: {retention: 40d}}
log: {level: warn}
`

// sent is a reading that was sent, acknowledged or not.
type sent struct {
	reading varve.Reading
	acked   bool
	first   time.Time // earliest possible arrival
	last    time.Time // latest possible arrival; set when the reading is acknowledged
}

// world records the readings that the writers have sent. It also controls the clock of the server,
// which is ahead of the real time.
type world struct {
	clockFile string
	mu        sync.Mutex
	ahead     time.Duration    // difference between the server's clock and the real time
	readings  map[string]*sent // by device, time and id
	acked     int              // number of distinct acknowledged readings
	copies    int              // number of acknowledged copies of readings
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) advance(t *testing.T, by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += by
	tmp := w.clockFile + ".new"
	if err := os.WriteFile(tmp, []byte(w.ahead.String()), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(tmp, w.clockFile); err != nil {
		t.Error(err)
	}
}

func key(r *varve.Reading) string {
	return fmt.Sprintf("%s %d %s", r.Device, r.Time.UnixNano(), r.ID)
}

// batch returns new readings with current event times and event times up to a year ago. Some
// readings are resent.
func (w *world) batch(rng *rand.Rand) []varve.Reading {
	now := w.now()
	var batch []varve.Reading
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.readings { // the order of a map is random
		if len(batch) == 3 {
			break
		}
		batch = append(batch, s.reading)
	}
	for range 1 + rng.IntN(40) {
		late := time.Duration(0)
		if rng.IntN(3) == 0 {
			late = time.Duration(rng.Int64N(int64(365 * 24 * time.Hour)))
		}
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "crash", Device: fmt.Sprintf("d%d", rng.IntN(8))},
			Time:   now.Add(-late).Truncate(time.Second), // several readings have the same time
			Fields: []varve.Field{{Name: "n", Value: varve.IntValue(rng.Int64N(1 << 40))}, {Name: "s", Value: varve.StringValue("x")}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			panic(v.String())
		}
		w.readings[key(&r)] = &sent{reading: r, first: now}
		batch = append(batch, r)
	}
	return batch
}

// write sends batches until the context ends or the server does not answer.
func (w *world) write(ctx context.Context, c *client.Client, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		batch := w.batch(rng)
		answer, err := c.WriteReadings(ctx, "crash", batch)
		if err != nil {
			// After an error, it is unknown whether the batch was stored. If the server has answered, as a
			// busy server does, the next batch follows.
			if answered(err) {
				continue
			}
			return
		}
		if answer.Rejected > 0 {
			panic(fmt.Sprintf("rejected: %+v", answer.Rejects))
		}
		now := w.now()
		w.mu.Lock()
		for i := range batch {
			s := w.readings[key(&batch[i])]
			if !s.acked {
				w.acked++
			} else {
				w.copies++
			}
			s.acked, s.last = true, now
		}
		w.mu.Unlock()
	}
}

// rotate advances the clock and runs the rotator repeatedly, until ctx or the server ends.
func (w *world) rotate(ctx context.Context, t *testing.T, c *client.Client, rng *rand.Rand) {
	for ctx.Err() == nil {
		w.advance(t, time.Duration(rng.Int64N(int64(36*time.Hour))))
		if _, err := c.Apply(ctx); err != nil && !answered(err) {
			return
		}
	}
}

// answered reports whether an error is an answer of a running server.
func answered(err error) bool { return errors.As(err, new(*varve.Error)) }

// TestKill_KeepsAcknowledgedReadings kills the server many times. After each restart, each acknowledged
// reading must exist once and unchanged, unless it has expired.
func TestKill_KeepsAcknowledgedReadings(t *testing.T) {
	kills := killsOr(200, 15)
	end := soakEnd()
	dir := t.TempDir()
	w := &world{clockFile: filepath.Join(dir, "clock"), readings: map[string]*sent{}}
	binary, err := varvetest.Build(t.Context(), dir, w.clockFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "varve.yaml"), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	w.advance(t, 0)
	rng := rand.New(rand.NewPCG(uint64(kills), 3))
	begin := w.now()
	done := 0
	for ; done < kills && time.Now().Before(end); done++ {
		w.life(t, binary, dir, rng, uint64(done))
		if t.Failed() {
			t.Fatalf("after kill %d", done+1)
		}
	}
	t.Logf("%d kills, %d readings acknowledged and %d copies of them, over %d days", done, w.acked, w.copies, int(w.now().Sub(begin).Hours()/24))
	if w.acked < 10*done || w.copies < done {
		t.Errorf("too little was written to prove anything")
	}
}

// lifeReadings limits the number of new acknowledged readings for which life waits before it kills the
// server. With a limit in readings instead of time, a slow machine does as much work as a fast one.
const lifeReadings = 600

// acknowledged returns the number of distinct acknowledged readings so far.
func (w *world) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}

// life starts the server, checks its data, writes to it, and kills it.
func (w *world) life(t *testing.T, binary, dir string, rng *rand.Rand, n uint64) {
	s, err := varvetest.Start(t.Context(), binary, dir)
	if err != nil {
		t.Error(err)
		return
	}
	c, err := client.New(s.URL, client.WithRetries(0))
	if err != nil {
		t.Error(err)
		return
	}
	w.check(t, c)
	// Both random numbers must be drawn before rotate starts, because it uses rng, too.
	target := w.acknowledged() + rng.IntN(lifeReadings)
	pause := time.Duration(rng.IntN(20)) * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range uint64(3) {
		wg.Go(func() { w.write(ctx, c, n*10+i) })
	}
	wg.Go(func() { w.rotate(ctx, t, c, rng) })
	if !varvetest.Eventually(func() bool { return w.acknowledged() >= target }) {
		t.Errorf("%d readings are acknowledged after a long wait, want %d", w.acknowledged(), target)
	}
	// After the random pause, the kill can interrupt any step of a write or a rotation.
	timer := time.NewTimer(pause)
	<-timer.C
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
}

// check reads all data and compares it with the sent readings.
func (w *world) check(t *testing.T, c *client.Client) {
	found := map[string]bool{}
	for d := range 8 {
		device := fmt.Sprintf("d%d", d)
		var last *varve.Position
		for r, err := range c.Readings(t.Context(), client.Query{Stream: "crash", Device: device, Consistent: true}, nil) {
			if varve.FailureOf(err) == varve.NotFound {
				break // no reading of the device is stored; checkMissing fails if one was acknowledged
			}
			if err != nil {
				t.Error(err)
				return
			}
			w.checkReading(t, r, found, last)
			p := r.Position()
			last = &p
		}
	}
	w.checkMissing(t, found)
}

func (w *world) checkReading(t *testing.T, r *varve.Reading, found map[string]bool, last *varve.Position) {
	k := key(r)
	s := w.readings[k]
	switch {
	case s == nil:
		t.Errorf("%s was never sent", k)
		return
	case found[k]:
		t.Errorf("%s is there twice", k)
	case last != nil && r.Position().Compare(*last) <= 0:
		t.Errorf("%s is out of order", k)
	}
	found[k] = true
	if fmt.Sprint(r.Fields) != fmt.Sprint(s.reading.Fields) {
		t.Errorf("%s has fields %v, and was sent with %v", k, r.Fields, s.reading.Fields)
	}
	// If the reading was resent in the next month, reads may return the later arrival once the
	// first copy has expired, but not before.
	if s.acked && r.Arrived.After(s.last.Add(time.Second)) && w.now().Before(s.expires()) {
		t.Errorf("%s arrived at %s, and was acknowledged at %s", k, r.Arrived, s.last)
	}
}

// expires returns the earliest time at which the reading may be missing.
func (s *sent) expires() time.Time {
	from := s.first
	if s.reading.Time.After(from) {
		from = s.reading.Time
	}
	return from.Add(retentionDays * 24 * time.Hour)
}

// checkMissing checks that each acknowledged reading was found, unless it has expired. It removes
// expired readings from the world if they are missing.
func (w *world) checkMissing(t *testing.T, found map[string]bool) {
	now := w.now()
	for k, s := range w.readings {
		expired := !now.Before(s.expires())
		switch {
		case found[k]:
		case s.acked && !expired:
			t.Errorf("%s was acknowledged, and is gone; first sent %s, now %s", k, s.first, now)
		case expired:
			delete(w.readings, k)
		}
	}
}
