package api_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
)

func pack(t *testing.T, encoding, body string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if encoding == "zstd" {
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// lines returns n different readings as NDJSON, in the order of their event times.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(good(noon.Add(time.Duration(i-n+1)*time.Second)) + "\n")
	}
	return b.String()
}

var ndjson = []string{"Content-Type", "application/x-ndjson"}

// TestBodies_AreDecompressed checks that gzip and zstd are decompressed, and that other or broken
// encodings are refused with the reason.
func TestBodies_AreDecompressed(t *testing.T) {
	s := newServer(t, nil)
	for _, encoding := range []string{"gzip", "zstd", "GZIP", "identity", ""} {
		body := lines(20)
		if e := strings.ToLower(encoding); e == "gzip" || e == "zstd" {
			body = pack(t, e, body)
		}
		for range 3 {
			r := s.send("POST", writePath, body, append(ndjson, "Content-Encoding", encoding)...)
			if a := decode[wire.WriteAnswer](r); r.status != http.StatusOK || a.Stored+a.Duplicates != 20 {
				t.Errorf("%q: %d %s", encoding, r.status, r.body)
			}
		}
	}
	s.send("POST", writePath, good(noon), "Content-Encoding", "br").problem(http.StatusUnsupportedMediaType, "header.Content-Encoding", "gzip, zstd")
	s.send("POST", writePath, good(noon), "Content-Type", "application/xml").problem(http.StatusUnsupportedMediaType, "header.Content-Type", "text/csv")
	for _, encoding := range []string{"gzip", "zstd"} {
		head := append(ndjson, "Content-Encoding", encoding)
		s.send("POST", writePath, good(noon), head...).problem(http.StatusBadRequest, "", "not "+encoding)
		if encoding == "gzip" { // an empty text is valid zstd
			s.send("POST", writePath, "", head...).problem(http.StatusBadRequest, "", "cut off")
		}
		packed := pack(t, encoding, lines(2000))
		p := s.send("POST", writePath, packed[:len(packed)/2], head...).problem(http.StatusBadRequest, "", "cut off")
		if p.Tally == nil {
			t.Errorf("%s: no counts", encoding)
		}
		// A failed decompression does not affect later requests, which may reuse its decoder.
		if r := s.send("POST", writePath, pack(t, encoding, lines(3)), head...); r.status != http.StatusOK {
			t.Errorf("%s, afterwards: %d %s", encoding, r.status, r.body)
		}
	}
}

// TestBodyLimit_AppliesAfterDecompression checks that a body that is longer than the limit after
// decompression gets 413, with the counts of the readings before the limit. The body may have a
// Content-Length or not, and any compression.
func TestBodyLimit_AppliesAfterDecompression(t *testing.T) {
	body := lines(200)
	s := newServer(t, func(_ *engine.Options, l *api.Limits) { l.Body = int64(len(body)) })
	if r := s.send("POST", writePath, body, ndjson...); r.status != http.StatusOK {
		t.Errorf("exactly the limit: %d %s", r.status, r.body)
	}
	s.send("POST", writePath, body+"\n", ndjson...).problem(http.StatusRequestEntityTooLarge, "", "longer than")
	bomb := body + strings.Repeat("\n", 16<<20)
	for _, encoding := range []string{"gzip", "zstd"} {
		packed := pack(t, encoding, bomb)
		if len(packed) > 1<<20 {
			t.Fatalf("a bomb of %d bytes", len(packed))
		}
		p := s.send("POST", writePath, packed, append(ndjson, "Content-Encoding", encoding)...).problem(http.StatusRequestEntityTooLarge, "", "counted here")
		if p.Tally == nil {
			t.Errorf("%s: no counts", encoding)
		}
	}
	// The request has no Content-Length, because the reader hides the length.
	r := s.sendReader("POST", writePath, io.MultiReader(strings.NewReader(body), strings.NewReader("\n")), ndjson...)
	r.problem(http.StatusRequestEntityTooLarge, "", "longer than")
	s.send("POST", writePath, "["+strings.ReplaceAll(strings.TrimSpace(body), "\n", ",")+",1]").problem(http.StatusRequestEntityTooLarge, "", "")
}

// TestBrokenChunk_IsClientsError checks that a body with an invalid length of a chunk gets 400, with the
// number of stored readings before this chunk.
func TestBrokenChunk_IsClientsError(t *testing.T) {
	s := newServer(t, nil)
	line := good(noon) + "\n"
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nzz\r\n", writePath, len(line), line)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "cannot be read") || !strings.Contains(string(body), `"stored":1`) {
		t.Errorf("%s %s, %v; want 400 with one stored reading", resp.Status, body, err)
	}
}

// TestStreamedBody_IsStoredWhole checks that all readings of a long body without a length are
// stored, and that a query returns all of them.
func TestStreamedBody_IsStoredWhole(t *testing.T) {
	n := 30_000
	if testing.Short() {
		n = 6_000
	}
	s := newServer(t, nil)
	in, out := io.Pipe()
	go func() {
		text := strings.NewReader(lines(n))
		if _, err := io.Copy(out, iotest.HalfReader(text)); err != nil {
			t.Error(err)
		}
		out.Close()
	}()
	r := s.sendReader("POST", writePath, in, ndjson...)
	if a := decode[wire.WriteAnswer](r); r.status != http.StatusOK || int(a.Stored) != n {
		t.Errorf("%d %s", r.status, r.body)
	}
	back := s.get(readPath, "Accept", "application/x-ndjson")
	if got := strings.Count(back.body, "\n"); got != n {
		t.Errorf("%d readings came back", got)
	}
}

// TestInvalidBodies_GivenUp checks that a body with mostly invalid readings is not read to its
// end. The answer names the first rejection.
func TestInvalidBodies_GivenUp(t *testing.T) {
	s := newServer(t, nil)
	for line, says := range map[string]string{"x": "malformed", "{}": "time_missing", `{"device":"d1","time":"?"}`: "time_invalid"} {
		// The compressed body is so short that the client sends all of it before the answer.
		body := pack(t, "gzip", good(noon)+"\n"+strings.Repeat(line+"\n", 1_000_000))
		p := s.send("POST", writePath, body, append(ndjson, "Content-Encoding", "gzip")...).problem(http.StatusBadRequest, "", "the first is "+says)
		if p.Tally == nil || p.Tally.Rejected > 300_000 || p.Tally.Stored+p.Tally.Duplicates != 1 {
			t.Errorf("%s: %+v", line, p.Tally)
		}
	}
	// A body with fewer invalid readings is read to its end. All are counted, and the first
	// 10,000 are listed.
	body := strings.Repeat("x\n", 50_000)
	if a := decode[wire.WriteAnswer](s.send("POST", writePath, body, ndjson...)); a.Rejected != 50_000 || len(a.Rejects) != 10_000 {
		t.Errorf("%d rejected, %d listed", a.Rejected, len(a.Rejects))
	}
}

// parts is an endless compressed body of parts that are compressed on their own. No read continues into the
// next part, so the number of parts bounds the decompressed bytes.
type parts struct {
	part, rest string
	n, most    int // number of parts that were begun, and the number after which reads fail
}

func (p *parts) Read(to []byte) (int, error) {
	if p.rest == "" {
		if p.n == p.most {
			return 0, errors.New("too many parts were read")
		}
		p.n, p.rest = p.n+1, p.part
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// TestPackedBlanks_GivenUp checks that an endless body of compressed blank lines is refused with the
// reason, after 32 MiB of them are decompressed. The limit of the test is twice as large, because a decoder
// may read ahead. The test counts bytes, because the time depends on the machine.
func TestPackedBlanks_GivenUp(t *testing.T) {
	s := newServer(t, nil)
	const size, most = 1 << 20, 64
	for _, encoding := range []string{"gzip", "zstd"} {
		body := &parts{part: pack(t, encoding, strings.Repeat("\n", size)), most: most} // both encodings allow several parts
		// No connection is between the body and the server, because its buffers would hide the unread rest.
		req := httptest.NewRequest(http.MethodPost, "http://localhost"+writePath, body)
		req.Header.Set("Content-Type", "application/x-ndjson")
		req.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, req)
		(&reply{t: t, status: w.Code, header: w.Header(), body: w.Body.String()}).problem(http.StatusBadRequest, "", "blank")
		t.Logf("%s: %d MiB were decompressed, of %d bytes", encoding, body.n*size>>20, body.n*len(body.part))
	}
}

// TestFieldsOfASeries_AreBounded checks that a reading with a new field is rejected if its series
// has too many fields already, so that roll-ups stay small.
func TestFieldsOfASeries_AreBounded(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) { o.SeriesFields = 20 })
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `{"device":"d1","time":%d,"fields":{"f%d":1}}`+"\n", noon.UnixMilli()-int64(i), i)
	}
	a := decode[wire.WriteAnswer](s.send("POST", writePath, body.String(), ndjson...))
	if a.Stored != 20 || a.Rejected != 980 || a.Rejects[0].Code != string(varve.CodeTooManyFields) || !strings.Contains(a.Rejects[0].Message, "limits.series_fields") {
		t.Errorf("%d stored, %d rejected: %+v", a.Stored, a.Rejected, a.Rejects[0])
	}
	if r := s.get("/v1/streams/weather/devices/d1/rollups?period=hourly"); r.status != http.StatusOK || len(r.body) > 20_000 {
		t.Errorf("%d, %d bytes", r.status, len(r.body))
	}
	if a := decode[wire.WriteAnswer](s.send("POST", writePath, `{"device":"d2","time":1795000000000,"fields":{"f999":1}}`)); a.Rejected > 0 && a.Rejects[0].Code == string(varve.CodeTooManyFields) {
		t.Errorf("another device: %+v", a)
	}
}
