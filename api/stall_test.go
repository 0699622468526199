package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// halfSent sends the head of a write to a path and only a part of its body, and returns the answer.
func (s *server) halfSent(path, head, part string) *reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", path, head, part); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reply{t: s.t, status: resp.StatusCode, header: resp.Header, body: string(text)}
}

// TestStalledBody_Gets408 checks that a body that stalls gets 408 with the counts of its earlier
// readings. The body may be long or short, and have a length or not. The stall must not be reported
// as a fault.
func TestStalledBody_Gets408(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = 200 * time.Millisecond })
	for _, head := range []string{"Content-Length: 100\r\n", "Content-Length: 100000\r\n", "Transfer-Encoding: chunked\r\n"} {
		for _, part := range []string{"", good(noon)[:20]} {
			if strings.HasPrefix(head, "T") && part != "" {
				part = fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
			}
			p := s.halfSent(writePath, head, part).problem(http.StatusRequestTimeout, "", "stalled")
			if p.Tally == nil {
				t.Errorf("%q: no counts", head)
			}
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, good(noon)); err != nil {
		t.Fatal(err)
	}
	if err := z.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"", packed.String()} {
		const head = "Content-Length: 5000\r\nContent-Encoding: gzip\r\n"
		s.halfSent(writePath, head, part).problem(http.StatusRequestTimeout, "", "stalled")
		s.halfSent("/api/v2/write?bucket=x", head, part).influxError(http.StatusServiceUnavailable, "unavailable", "stalled")
	}
	if n := s.failures(); n > 0 {
		t.Errorf("%d failures were told of: %v", n, s.failed)
	}
}

// drips is an endless reader that returns one blank at a time, with a pause before each.
type drips struct{ every time.Duration }

func (d drips) Read(p []byte) (int, error) {
	<-time.After(d.every)
	return copy(p, " "), nil
}

// TestDrippingBody_IsRefusedAfterLimit checks that a body that makes progress and never ends is
// refused after the request's time limit.
func TestDrippingBody_IsRefusedAfterLimit(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Request = 150 * time.Millisecond })
	s.sendReader("POST", writePath, drips{10 * time.Millisecond}).problem(http.StatusRequestTimeout, "", "took too long")
}

// TestWrite_MayOutlastStallLimit checks that a write may take longer than a body may stall. On a busy
// machine, the client itself may stall. Then the test tries again with longer times.
func TestWrite_MayOutlastStallLimit(t *testing.T) {
	for _, body := range []string{good(noon), lines(2000)} {
		r := &reply{status: http.StatusRequestTimeout}
		for stall := 200 * time.Millisecond; r.status == http.StatusRequestTimeout && stall < 5*time.Second; stall *= 2 {
			s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = stall })
			s.store.set(&s.store.write, func(grid.Table) error { <-time.After(2 * stall); return nil })
			r = s.send("POST", writePath, body, ndjson...)
		}
		if r.status != http.StatusOK || decode[wire.WriteAnswer](r).Stored == 0 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

// TestHangingWrite_PermitsRetry checks that, even if the store hangs, a client gets an answer at the time
// limit of its request. The answer must permit a retry. On a busy machine, the body may not arrive within the
// limit. Then the test tries again with a longer one.
func TestHangingWrite_PermitsRetry(t *testing.T) {
	for _, body := range []string{good(noon), lines(2000)} {
		r := &reply{status: http.StatusRequestTimeout}
		for limit := 400 * time.Millisecond; r.status == http.StatusRequestTimeout && limit < 10*time.Second; limit *= 2 {
			s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Request = limit })
			s.store.set(&s.store.write, func(grid.Table) error { return errHangs })
			begin := time.Now()
			r = s.send("POST", writePath, body, ndjson...)
			if took := time.Since(begin); r.status != http.StatusServiceUnavailable && r.status != http.StatusRequestTimeout || took < limit || took > 10*time.Second+10*limit {
				t.Errorf("after %s: %d %s", took, r.status, r.body)
			}
			s.store.set(&s.store.write, nil)
			again := s.send("POST", writePath, body, ndjson...)
			for try := 0; again.status >= http.StatusBadRequest && try < 20; try++ { // a slow machine may need more than the limit
				again = s.send("POST", writePath, body, ndjson...)
			}
			if a := decode[wire.WriteAnswer](again); a.Stored+a.Duplicates == 0 || a.Rejected > 0 {
				t.Errorf("sent again: %d %s", again.status, again.body)
			}
		}
		if r.status != http.StatusServiceUnavailable {
			t.Errorf("the answers of hanging writes end with %d, want %d", r.status, http.StatusServiceUnavailable)
		}
	}
}

// serveHTTP serves s by HTTP/1 or HTTP/2 with small buffers for answers. Each end of a request is
// sent to ended.
func (s *server) serveHTTP(http2 bool) (web *httptest.Server, ended chan struct{}) {
	s.t.Helper()
	ended = make(chan struct{}, 10)
	web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.api.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	web.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(4096) // so that an answer soon waits for its client
		}
	}
	if web.EnableHTTP2 = http2; http2 {
		web.StartTLS()
	} else {
		web.Start()
	}
	s.t.Cleanup(web.Close)
	return web, ended
}

// TestUnreadAnswer_EndsRequest checks that a request ends if its client reads nothing, although the
// answer is written as a whole. Otherwise the request would hold its place and memory.
func TestUnreadAnswer_EndsRequest(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = time.Second })
	names, text := []string{}, strings.Repeat("x", 60<<10)
	for i := range 100 {
		names = append(names, fmt.Sprintf("d%d", i))
		s.write(readingOf(names[i], noon, `"a":"`+text+`"`))
	}
	latest := "/v1/streams/weather/latest?devices=" + url.QueryEscape(strings.Join(names, ","))
	for _, c := range []struct {
		method, path, body string
		http2              bool
	}{
		{method: http.MethodGet, path: latest},
		{method: http.MethodGet, path: latest, http2: true},
		{method: http.MethodPost, path: writePath, body: strings.Repeat(`{"device":"`+strings.Repeat("é", 200)+`"}`+"\n", 10_000)},
	} {
		web, ended := s.serveHTTP(c.http2)
		req, err := http.NewRequestWithContext(t.Context(), c.method, web.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-ndjson")
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Errorf("%s %.40s: HTTP/%d: the request is under way", c.method, c.path, resp.ProtoMajor)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s %.40s: HTTP/%d: all %d bytes were sent", c.method, c.path, resp.ProtoMajor, n)
		}
		resp.Body.Close()
	}
}

// TestHTTP2_PermitsPausesOfServer checks that the store may need longer for a batch, or for a page,
// than a client may stall.
func TestHTTP2_PermitsPausesOfServer(t *testing.T) {
	const readings = 3000
	list := make([]string, readings)
	for i := range list { // 6 MB, more than a client sends before the server reads
		list[i] = readingOf("d1", noon.Add(-time.Duration(i)*time.Second), `"a":"`+strings.Repeat("x", 2000)+`"`)
	}
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = time.Second })
	web, _ := s.serveHTTP(true)
	var calls atomic.Int32
	calls.Store(1)
	pause := func(grid.Table) error {
		if calls.Add(1) == 2 {
			<-time.After(1500 * time.Millisecond)
		}
		return nil
	}
	s.store.set(&s.store.write, pause)
	resp, err := web.Client().Post(web.URL+writePath, "application/x-ndjson", strings.NewReader(strings.Join(list, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Errorf("HTTP/%d: %d %.200s %v", resp.ProtoMajor, resp.StatusCode, text, err)
	}
	resp.Body.Close()
	s.store.set(&s.store.write, nil)
	calls.Store(0)
	s.store.set(&s.store.read, pause)
	if resp, err = web.Client().Get(web.URL + with(readPath, "format", "ndjson")); err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(resp.Body)
	if n := strings.Count(string(text), "\n"); err != nil || n != readings {
		t.Errorf("%d readings, %v; want %d", n, err, readings)
	}
	resp.Body.Close()
}
