package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/varvetest"
)

// turnOfMonth is when the middle one of the clocks begins.
var turnOfMonth = time.Date(2026, 11, 30, 23, 59, 50, 0, time.UTC)

// leaseWatch sees the rotator's lease change hands, and who makes and drops
// tables.
type leaseWatch struct {
	order sync.Mutex // held while a change of the lease is carried out, so that put sees them in that order

	mu       sync.Mutex
	holder   int // whose lease it is; -1: nobody's
	killed   map[int]bool
	token    string
	taken    int // how often
	mistakes []string
}

// leaseItem is what matters of the lease in a PutItem.
type leaseItem struct {
	Item struct {
		PK     struct{ S string }
		SK     struct{ S string }
		Holder struct{ S string }
		Token  struct{ N string }
	}
}

// parseLease returns the lease in a PutItem, if that changes the rotator's lease.
func parseLease(body []byte) (it leaseItem, ok bool) {
	err := json.Unmarshal(body, &it)
	return it, err == nil && it.Item.PK.S == "LEASE" && it.Item.SK.S == "rotator"
}

// put records a change of the lease that one of the servers sent and that succeeded.
func (w *leaseWatch) put(who int, it leaseItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case it.Item.Holder.S == "":
		if w.holder != who {
			w.mistakes = append(w.mistakes, fmt.Sprintf("server %d released the lease of %d", who, w.holder))
		}
		w.holder = -1
	case it.Item.Token.N == w.token: // renewed
	default:
		if w.holder >= 0 && !w.killed[w.holder] {
			w.mistakes = append(w.mistakes, fmt.Sprintf("server %d took the lease, which %d has", who, w.holder))
		}
		w.holder, w.token = who, it.Item.Token.N
		w.taken++
		delete(w.killed, who)
	}
}

// times returns how often the lease was taken.
func (w *leaseWatch) times() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken
}

// died takes note of a kill: what the server held, anybody may take over in
// time.
func (w *leaseWatch) died(who int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed[who] = true
}

// proxy is a way to DynamoDB on which one server's lease is watched.
func (w *leaseWatch) proxy(t *testing.T, who int, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	rp := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.PutItem" {
			rp.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server was killed meanwhile
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		// What was sent is carried out, whether the server lives on or not.
		r = r.WithContext(context.WithoutCancel(r.Context()))
		it, ok := parseLease(body)
		if !ok {
			rp.ServeHTTP(rw, r)
			return
		}
		w.order.Lock()
		defer w.order.Unlock()
		status := &statusWriter{ResponseWriter: rw}
		defer func() { // also if the answer cannot be sent, as the server was killed
			if status.code == http.StatusOK {
				w.put(who, it)
			}
		}()
		rp.ServeHTTP(status, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type statusWriter struct {
	http.ResponseWriter
	code int
}

func (s *statusWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// TestManyProcesses: three servers write to the same rows of one DynamoDB while
// all are told to rotate, their clocks differ by ten minutes around the turn of a
// month, and one after the other is killed. What was acknowledged is seen by
// each of them from then on, whole and once; and one rotates at a time.
func TestManyProcesses(t *testing.T) {
	kills := killsOr(12, 2)
	dir := t.TempDir()
	binary, err := varvetest.Build(t.Context(), dir, "clock")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := dynamotest.Local.Start(t)
	f := &fleet{binary: binary, readings: map[string]*sent{}, watch: leaseWatch{holder: -1, killed: map[int]bool{}}}
	ahead := time.Until(turnOfMonth)
	for i, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		m := &member{dir: filepath.Join(dir, fmt.Sprint(i)), skew: skew, endpoint: f.watch.proxy(t, i, endpoint)}
		if err := os.Mkdir(m.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		m.setClock(t, ahead)
		if err := m.start(t.Context(), binary); err != nil {
			t.Fatalf("start server %d: %v", i, err)
		}
		f.members = append(f.members, m)
	}
	// Writers end their last batch when ctx is done, and give it up when live is.
	live, giveUp := context.WithTimeout(t.Context(), fleetDeadline+*withinFlag)
	defer giveUp()
	ctx, cancel := context.WithCancel(live)
	var wg sync.WaitGroup
	for i := range f.members {
		for n := range 2 {
			wg.Go(func() { f.write(ctx, live, t, i, uint64(n)) })
		}
		wg.Go(func() { f.rotate(ctx, i) })
	}
	wg.Go(func() { f.read(ctx, t) })
	done := f.killSome(live, t, kills, giveUp)
	cancel()
	wg.Wait()
	if t.Failed() {
		t.Fatalf("after kill %d", done)
	}
	f.settle(t, ahead)
	t.Logf("%d kills, %d readings acknowledged, %d whole reads, the lease was taken %d times", done, f.acked, f.reads.Load(), f.watch.times())
}

// write sends batches to a server, and what it does not acknowledge to another
// one, until that does, or live ends.
func (f *fleet) write(ctx, live context.Context, t *testing.T, who int, seed uint64) {
	rng := rand.New(rand.NewPCG(uint64(who), seed))
	for ctx.Err() == nil {
		batch := f.batch(rng)
		for to := who; ; to = (to + 1) % len(f.members) {
			_, c := f.members[to].get()
			answer, err := c.WriteReadings(live, "crash", batch)
			if err == nil && answer.Rejected == 0 {
				break
			}
			if live.Err() != nil {
				return
			}
			for _, r := range answer.Rejects {
				if r.Code != string(varve.CodeUnavailable) {
					t.Errorf("server %d rejects %s: %s", to, r.Code, r.Message)
					return
				}
			}
		}
		f.mu.Lock()
		for i := range batch {
			r := f.readings[key(&batch[i])]
			if !r.acked {
				f.acked++
			}
			r.acked = true
		}
		f.mu.Unlock()
	}
}

// batch makes readings of three devices in a few seconds before the turn of the
// month, many at one timestamp, and takes some that were sent before.
func (f *fleet) batch(rng *rand.Rand) (batch []varve.Reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.readings { // in no order, as it happens
		if len(batch) == 2 {
			break
		}
		batch = append(batch, s.reading)
	}
	for range 1 + rng.IntN(8) {
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "crash", Device: fmt.Sprintf("d%d", rng.IntN(3))},
			Time:   turnOfMonth.Add(-time.Duration(rng.IntN(600)) * 100 * time.Millisecond),
			Fields: []varve.Field{{Name: "n", Value: varve.IntValue(rng.Int64N(1 << 40))}, {Name: "s", Value: varve.StringValue("x")}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			panic(v.String())
		}
		f.readings[key(&r)] = &sent{reading: r}
		batch = append(batch, r)
	}
	return batch
}

// rotate tells a server to rotate, over and over.
func (f *fleet) rotate(ctx context.Context, who int) {
	for ctx.Err() == nil {
		_, c := f.members[who].get()
		_, _ = c.Apply(ctx) // another rotates, or it was killed
	}
}

// acknowledged returns what has been so far.
func (f *fleet) acknowledged() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	acked := map[string]bool{}
	for k, s := range f.readings {
		if s.acked {
			acked[k] = true
		}
	}
	return acked
}

// read asks the servers in turn for everything that was acknowledged before.
func (f *fleet) read(ctx context.Context, t *testing.T) {
	for who := 0; ctx.Err() == nil; who = (who + 1) % len(f.members) {
		acked := f.acknowledged()
		_, c := f.members[who].get()
		found, err := f.all(ctx, t, c)
		if err != nil {
			continue // it was killed
		}
		f.reads.Add(1)
		for k := range acked {
			if !found[k] {
				t.Errorf("server %d does not have %s, which was acknowledged before", who, k)
				return
			}
		}
	}
}

// all reads everything from one server.
func (f *fleet) all(ctx context.Context, t *testing.T, c *client.Client) (map[string]bool, error) {
	found := map[string]bool{}
	for d := range 3 {
		var last *varve.Position
		for r, err := range c.Readings(ctx, client.Query{Stream: "crash", Device: fmt.Sprintf("d%d", d), Consistent: true}, nil) {
			if err != nil {
				return nil, err
			}
			k, p := key(r), r.Position()
			switch {
			case found[k]:
				t.Errorf("%s is there twice", k)
			case len(r.Fields) != 2:
				t.Errorf("%s is torn: %v", k, r.Fields)
			case last != nil && p.Compare(*last) <= 0:
				t.Errorf("%s is out of order", k)
			}
			found[k], last = true, &p
		}
	}
	return found, nil
}

// settle checks what is there in the end, with all servers at rest; and that
// each of them can rotate, once the lease of one that was killed is over.
func (f *fleet) settle(t *testing.T, ahead time.Duration) {
	acked := f.acknowledged()
	for who, m := range f.members {
		m.setClock(t, ahead+2*time.Hour)
		_, c := m.get()
		found, err := f.all(t.Context(), t, c)
		if err != nil {
			t.Errorf("server %d: %v", who, err)
		}
		if !maps.Equal(found, acked) {
			t.Errorf("server %d has %d readings, and %d were acknowledged", who, len(found), len(acked))
		}
	}
	for who, m := range f.members {
		_, c := m.get()
		var err error
		rotated := varvetest.Eventually(func() bool {
			_, err = c.Apply(t.Context())
			return err == nil || !errors.As(err, new(*varve.Error))
		})
		if !rotated || err != nil {
			t.Errorf("server %d does not rotate: %v", who, err)
		}
	}
	w := &f.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range slices.Compact(w.mistakes) {
		t.Error(m)
	}
}
