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

// fleet is several servers on one DynamoDB, each with a clock of its own.
type fleet struct {
	binary  string
	members []*member
	watch   leaseWatch

	mu       sync.Mutex
	readings map[string]*sent
}

// member is one of the servers, in whatever life.
type member struct {
	dir      string
	skew     time.Duration
	endpoint string // its own way to DynamoDB

	mu     sync.Mutex
	server *varvetest.Server
	client *client.Client
}

func (m *member) setClock(t *testing.T, ahead time.Duration) {
	t.Helper()
	file := filepath.Join(m.dir, "clock")
	if err := os.WriteFile(file+".new", []byte((ahead + m.skew).String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func (m *member) start(t *testing.T, binary string) {
	s, err := varvetest.Start(t.Context(), binary, m.dir, "--store", "dynamodb", "--set", "store.endpoint="+m.endpoint,
		"--set", "log.level=warn", "--set", "streams.crash.row_window=1s")
	if err != nil {
		t.Error(err)
		return
	}
	c, err := client.New(s.URL, client.WithRetries(0))
	if err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server, m.client = s, c
}

func (m *member) get() (*varvetest.Server, *client.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server, m.client
}

// leaseWatch sees the rotator's lease change hands, and who makes and drops
// tables.
type leaseWatch struct {
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

// put takes note of a PutItem that one of the servers sent and that succeeded.
func (w *leaseWatch) put(who int, body []byte) {
	var it leaseItem
	if json.Unmarshal(body, &it) != nil || it.Item.PK.S != "LEASE" || it.Item.SK.S != "rotator" {
		return
	}
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
		status := &statusWriter{ResponseWriter: rw}
		// What was sent is carried out, whether the server lives on or not.
		rp.ServeHTTP(status, r.WithContext(context.WithoutCancel(r.Context())))
		if status.code == http.StatusOK {
			w.put(who, body)
		}
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
	kills := 12
	if testing.Short() {
		kills = 2
	}
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
		m.start(t, binary)
		f.members = append(f.members, m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range f.members {
		for n := range 2 {
			wg.Go(func() { f.write(ctx, t, i, uint64(n)) })
		}
		wg.Go(func() { f.rotate(ctx, i) })
	}
	wg.Go(func() { f.read(ctx, t) })
	f.killSome(t, kills)
	cancel()
	wg.Wait()
	f.settle(t, ahead)
}

// killSome kills a server every few seconds, and starts it again.
func (f *fleet) killSome(t *testing.T, kills int) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for kill := range kills {
		<-tick.C
		who := kill % len(f.members)
		s, _ := f.members[who].get()
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		f.watch.died(who)
		f.members[who].start(t, f.binary)
		if t.Failed() {
			return
		}
	}
	<-tick.C
}

// write sends batches to a server, and what it does not acknowledge to another
// one, until that does.
func (f *fleet) write(ctx context.Context, t *testing.T, who int, seed uint64) {
	rng := rand.New(rand.NewPCG(uint64(who), seed))
	for ctx.Err() == nil {
		batch := f.batch(rng)
		for to := who; ; to = (to + 1) % len(f.members) {
			_, c := f.members[to].get()
			answer, err := c.WriteReadings(context.WithoutCancel(ctx), "crash", batch)
			if err == nil && answer.Rejected == 0 {
				break
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
			f.readings[key(&batch[i])].acked = true
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
	whole := 0
	for who := 0; ctx.Err() == nil; who = (who + 1) % len(f.members) {
		acked := f.acknowledged()
		_, c := f.members[who].get()
		found, err := f.all(ctx, t, c)
		if err != nil {
			continue // it was killed
		}
		whole++
		for k := range acked {
			if !found[k] {
				t.Errorf("server %d does not have %s, which was acknowledged before", who, k)
				return
			}
		}
	}
	if whole == 0 {
		t.Error("no read came to its end")
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
	t.Logf("%d readings, the lease was taken %d times", len(acked), w.taken)
	if len(acked) < 200 || w.taken < 10 {
		t.Error("too little to prove anything")
	}
}
