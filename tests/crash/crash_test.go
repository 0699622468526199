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

// retentionDays is how long the service under test keeps readings.
const retentionDays = 40

// configuration drops tables soon, so that readings, tables and months come and
// go many times over in one test.
const configuration = `
store: {memory: 256KiB, min_free: 0}
tables: {future: 48h}
retention: {drop: true, grace: 1d}
classes: {default: {retention: 40d}}
log: {level: warn}
`

// sent is one reading that was submitted.
type sent struct {
	reading varve.Reading
	acked   bool
	first   time.Time // earliest that it can have arrived
	last    time.Time // latest that it can have arrived, once it is acked
}

// world is what the writers know. The clock only moves between lives of the
// server and when it is told to.
type world struct {
	clockFile string
	mu        sync.Mutex
	ahead     time.Duration
	readings  map[string]*sent // by device, time and id
	acked     int
	copies    int
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

// advance moves the server's clock on.
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

// batch makes readings: live ones, and late ones of up to a year ago. Some have
// been sent before.
func (w *world) batch(rng *rand.Rand) []varve.Reading {
	now := w.now()
	var batch []varve.Reading
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.readings { // in no order, as it happens
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
			Time:   now.Add(-late).Truncate(time.Second), // several at one timestamp
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
			// The batch may be stored or not. A busy server answers so, too.
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

// rotate runs the rotator and moves the clock on, until the server is gone.
func (w *world) rotate(ctx context.Context, t *testing.T, c *client.Client, rng *rand.Rand) {
	for ctx.Err() == nil {
		w.advance(t, time.Duration(rng.Int64N(int64(36*time.Hour))))
		if _, err := c.Apply(ctx); err != nil && !answered(err) {
			return
		}
	}
}

// answered reports whether an error is the answer of a server that runs.
func answered(err error) bool { return errors.As(err, new(*varve.Error)) }

// TestKill: whatever was acknowledged and has not expired is there after every
// kill, once, as it was sent.
func TestKill(t *testing.T) {
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

// lifeReadings bounds the new readings that are acknowledged before a kill. A
// life is measured in them and not in time: a slow machine does the same work.
const lifeReadings = 600

// acknowledged returns the number of different readings acknowledged so far.
func (w *world) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}

// life starts the server, checks what it has kept, loads it, and kills it.
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
	// Drawn before rotate draws, too.
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
	// The kill falls anywhere between two acknowledgements.
	timer := time.NewTimer(pause)
	<-timer.C
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
}

// check reads everything back.
func (w *world) check(t *testing.T, c *client.Client) {
	found := map[string]bool{}
	for d := range 8 {
		device := fmt.Sprintf("d%d", d)
		var last *varve.Position
		for r, err := range c.Readings(t.Context(), client.Query{Stream: "crash", Device: device, Consistent: true}, nil) {
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
	// If it was sent again after the turn of a month, the later arrival may show
	// once the first copy has expired, and not before.
	if s.acked && r.Arrived.After(s.last.Add(time.Second)) && w.now().Before(s.expires()) {
		t.Errorf("%s arrived at %s, and was acknowledged at %s", k, r.Arrived, s.last)
	}
}

// expires is when the reading may be gone at the earliest.
func (s *sent) expires() time.Time {
	from := s.first
	if s.reading.Time.After(from) {
		from = s.reading.Time
	}
	return from.Add(retentionDays * 24 * time.Hour)
}

// checkMissing looks for what must be there, and forgets what has expired.
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
