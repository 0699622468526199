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
	"strings"
	"testing"
	"time"
)

// halfSent sends the head of a write and only a part of its body, and returns the answer.
func (s *server) halfSent(head, part string) *reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", writePath, head, part); err != nil {
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
// readings. The body may be long or short, and have a length or not. The stall is not reported as a
// fault.
func TestStalledBody_Gets408(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = 30 * time.Millisecond })
	for _, head := range []string{"Content-Length: 100\r\n", "Content-Length: 100000\r\n", "Transfer-Encoding: chunked\r\n"} {
		for _, part := range []string{"", good(noon)[:20]} {
			if strings.HasPrefix(head, "T") && part != "" {
				part = fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
			}
			p := s.halfSent(head, part).problem(http.StatusRequestTimeout, "", "stalled")
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
		s.halfSent("Content-Length: 5000\r\nContent-Encoding: gzip\r\n", part).problem(http.StatusRequestTimeout, "", "stalled")
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

// TestWrite_MayOutlastStallLimit checks that a write may take longer than a body may stall.
func TestWrite_MayOutlastStallLimit(t *testing.T) {
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Stall = 20 * time.Millisecond })
	s.store.set(&s.store.write, func(grid.Table) error { <-time.After(100 * time.Millisecond); return nil })
	for _, body := range []string{good(noon), lines(2000)} {
		r := s.send("POST", writePath, body, ndjson...)
		if a := decode[wire.WriteAnswer](r); r.status != http.StatusOK || a.Stored == 0 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

// TestHangingWrite_PermitsRetry checks that, even if the store hangs, a client gets an answer at the time
// limit of its request. The answer must permit a retry.
func TestHangingWrite_PermitsRetry(t *testing.T) {
	const limit = 400 * time.Millisecond
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Request = limit })
	for _, body := range []string{good(noon), lines(2000)} {
		s.store.set(&s.store.write, func(grid.Table) error { return errHangs })
		begin := time.Now()
		r := s.send("POST", writePath, body, ndjson...)
		if took := time.Since(begin); r.status != http.StatusServiceUnavailable || took < limit || took > 20*limit {
			t.Errorf("after %s: %d %s", took, r.status, r.body)
		}
		s.store.set(&s.store.write, nil)
		r = s.send("POST", writePath, body, ndjson...)
		for try := 0; r.status == http.StatusServiceUnavailable && try < 20; try++ { // a slow machine may need more than the limit
			r = s.send("POST", writePath, body, ndjson...)
		}
		if a := decode[wire.WriteAnswer](r); a.Stored+a.Duplicates == 0 || a.Rejected > 0 {
			t.Errorf("sent again: %d %s", r.status, r.body)
		}
	}
}
