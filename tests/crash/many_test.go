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

// turnOfMonth is the initial time of the first server, ten seconds before the month ends. The clocks
// of the other two servers are ten minutes fast and ten minutes slow.
var turnOfMonth = time.Date(2026, 11, 30, 23, 59, 50, 0, time.UTC)

// leaseWatch observes which server holds the rotator's lease, and records forbidden changes of the lease.
type leaseWatch struct {
	order sync.Mutex // locked while a server changes the lease, so that put receives changes in their order

	mu       sync.Mutex
	holder   int          // server that holds the lease; -1 if no server does
	killed   map[int]bool // servers that were killed and have not taken the lease since
	token    string       // fencing token of the lease
	taken    int          // how often the holder changed
	mistakes []string     // forbidden changes
}

// leaseItem has the parts of a PutItem request that are about a lease.
type leaseItem struct {
	Item struct {
		PK     struct{ S string }
		SK     struct{ S string }
		Holder struct{ S string }
		Token  struct{ N string }
	}
}

// parseLease returns the lease in a PutItem request. The result "ok" is false if the request does
// not change the rotator's lease.
func parseLease(body []byte) (it leaseItem, ok bool) {
	err := json.Unmarshal(body, &it)
	return it, err == nil && it.Item.PK.S == "LEASE" && it.Item.SK.S == "rotator"
}

// put records that a server has successfully changed the lease.
func (w *leaseWatch) put(who int, it leaseItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case it.Item.Holder.S == "":
		if w.holder != who {
			w.mistakes = append(w.mistakes, fmt.Sprintf("server %d released the lease of %d", who, w.holder))
		}
		w.holder = -1
	case it.Item.Token.N == w.token: // the holder renewed the lease
	default:
		if w.holder >= 0 && w.holder != who && !w.killed[w.holder] { // a late holder takes its own lease over
			w.mistakes = append(w.mistakes, fmt.Sprintf("server %d took the lease, which %d has", who, w.holder))
		}
		w.holder, w.token = who, it.Item.Token.N
		w.taken++
		delete(w.killed, who)
	}
}

// times returns how often the holder of the lease has changed.
func (w *leaseWatch) times() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken
}

// died records that a server was killed. Once its lease has ended, any server may take it over.
func (w *leaseWatch) died(who int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed[who] = true
}

// proxy returns the address of a proxy through which one server uses DynamoDB. The proxy observes
// the lease.
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
		// The request is executed even if the server is killed.
		r = r.WithContext(context.WithoutCancel(r.Context()))
		it, ok := parseLease(body)
		if !ok {
			rp.ServeHTTP(rw, r)
			return
		}
		w.order.Lock()
		defer w.order.Unlock()
		status := &statusWriter{ResponseWriter: rw}
		defer func() { // also runs if ServeHTTP panics, because the answer cannot be sent to a killed server
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

// TestManyProcesses_AgreeOnReadings runs three servers that write to the same rows of one
// DynamoDB. All of them rotate. One clock is shortly before the turn of a month, one is ten minutes
// fast, and one ten minutes slow. The servers are killed in turn. Every server must return each
// acknowledged reading once and unchanged, and only one server may rotate at a time.
func TestManyProcesses_AgreeOnReadings(t *testing.T) {
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
	// When ctx is done, writers finish their last batch. When live is done, they cancel it.
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

// write sends batches to a server. If the server does not acknowledge a batch, write sends the
// batch to the next server, until one acknowledges it or live ends.
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

// batch returns readings of three devices with event times in the minute before turnOfMonth, so
// that many event times are equal. Some readings are resent.
func (f *fleet) batch(rng *rand.Rand) (batch []varve.Reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.readings { // the order of a map is random
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

// rotate requests rotations from a server until ctx ends.
func (f *fleet) rotate(ctx context.Context, who int) {
	for ctx.Err() == nil {
		_, c := f.members[who].get()
		_, _ = c.Apply(ctx) // an error is expected if another server rotates, or this one was killed
	}
}

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

// read reads all readings from each server in turn, and checks that none of the acknowledged ones
// is missing.
func (f *fleet) read(ctx context.Context, t *testing.T) {
	for who := 0; ctx.Err() == nil; who = (who + 1) % len(f.members) {
		acked := f.acknowledged()
		_, c := f.members[who].get()
		found, err := f.all(ctx, t, c)
		if err != nil {
			continue // the server was killed
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

// all reads all readings from one server, checks them, and returns their keys.
func (f *fleet) all(ctx context.Context, t *testing.T, c *client.Client) (map[string]bool, error) {
	found := map[string]bool{}
	for d := range 3 {
		var last *varve.Position
		for r, err := range c.Readings(ctx, client.Query{Stream: "crash", Device: fmt.Sprintf("d%d", d), Consistent: true}, nil) {
			if varve.FailureOf(err) == varve.NotFound {
				break // no reading of the device is stored
			}
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

// settle checks the final data when no server is busy. After the lease of a killed server has
// ended, each server must be able to rotate.
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
