package dynamosim

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// Options configure a server. All are optional.
type Options struct {
	// Now returns the current time. If nil, it is time.Now.
	Now func() time.Time
	// Latency returns the shortest time that the next request may take. If nil, it is 0.
	Latency func() time.Duration
	// Limits are the limits of the throughput. If nil, no request is throttled.
	Limits *capacity.Limits
	// TableDelay is how long the creation, a change or the deletion of a table takes.
	TableDelay time.Duration
}

// Server is the stand-in. It is an http.Handler.
type Server struct {
	options Options
	serial  atomic.Int64
	counts  counts

	mu     sync.RWMutex
	tables map[string]*table
}

// New returns a server without tables.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{options: o, tables: map[string]*table{}}
}

// operation executes a request and appends the JSON of its answer.
type operation func(s *Server, body []byte, out *jx.Writer) error

// onItems returns the operation for a function that works on items. Such operations are frequent, so
// they do not use encoding/json.
func onItems(do func(s *Server, r *request, out *jx.Writer) error) operation {
	return func(s *Server, body []byte, out *jx.Writer) error {
		r, err := decodeRequest(body)
		if err != nil {
			return err
		}
		return do(s, r, out)
	}
}

// control has the operations on tables and their settings.
type control struct{ *Server }

// onTables returns the operation for a function that works on tables. Such operations are rare,
// so they use encoding/json.
func onTables[In any](do func(s control, in *In) (any, error)) operation {
	return func(s *Server, body []byte, out *jx.Writer) error {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return err
		}
		answer, err := do(control{s}, &in)
		if err != nil || answer == nil {
			return err
		}
		text, err := json.Marshal(answer)
		out.Raw(text)
		return err
	}
}

var operations = map[string]operation{
	"PutItem":        onItems((*Server).putItem),
	"UpdateItem":     onItems((*Server).updateItem),
	"DeleteItem":     onItems((*Server).deleteItem),
	"GetItem":        onItems((*Server).getItem),
	"Query":          onItems((*Server).query),
	"Scan":           onItems((*Server).scan),
	"BatchGetItem":   onItems((*Server).batchGetItem),
	"BatchWriteItem": onItems((*Server).batchWriteItem),

	"CreateTable":               onTables(control.createTable),
	"UpdateTable":               onTables(control.updateTable),
	"DeleteTable":               onTables(control.deleteTable),
	"DescribeTable":             onTables(control.describeTable),
	"ListTables":                onTables(control.listTables),
	"TagResource":               onTables(control.tagResource),
	"UntagResource":             onTables(control.untagResource),
	"ListTagsOfResource":        onTables(control.listTags),
	"UpdateTimeToLive":          onTables(control.updateTTL),
	"DescribeTimeToLive":        onTables(control.describeTTL),
	"UpdateContinuousBackups":   onTables(control.updateBackups),
	"DescribeContinuousBackups": onTables(control.describeBackups),
	"DescribeLimits":            onTables(control.describeLimits),
}

// buffers has buffers for the bodies of requests and answers, so that requests can reuse them.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct {
	body []byte
	out  jx.Writer
}

// ServeHTTP implements http.Handler. It answers a GET request with the usage.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.serveUsage(w)
		return
	}
	begin := s.options.Now()
	b := buffers.Get().(*buffer) // the pool contains only buffers
	defer buffers.Put(b)
	var err error
	if b.body, err = readBody(r, b.body[:0]); err != nil {
		return // the client has closed the connection
	}
	b.out.Buf = b.out.Buf[:0]
	status := http.StatusOK
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if err := s.perform(name, b.body, &b.out); err != nil {
		b.out.Buf = b.out.Buf[:0]
		f := asFailure(err)
		status = f.append(&b.out)
		s.counts.addFailure(f)
	}
	s.counts.requests.Add(1)
	if s.options.Latency != nil && wait(r.Context(), s.options.Latency()-s.options.Now().Sub(begin)) != nil {
		return
	}
	h := w.Header()
	h["Content-Type"] = contentType
	h["X-Amzn-Requestid"] = []string{strconv.FormatInt(s.serial.Add(1), 10)}
	h["X-Amz-Crc32"] = []string{strconv.FormatUint(uint64(crc32.ChecksumIEEE(b.out.Buf)), 10)}
	h["Content-Length"] = []string{strconv.Itoa(len(b.out.Buf))}
	w.WriteHeader(status)
	_, _ = w.Write(b.out.Buf) // the client may have closed the connection
}

var contentType = []string{"application/x-amz-json-1.0"}

func (s *Server) perform(name string, body []byte, out *jx.Writer) error {
	do := operations[name]
	if do == nil {
		return &failure{kind: serviceErrors + "UnknownOperationException"}
	}
	if err := do(s, body, out); err != nil {
		return err
	}
	if len(out.Buf) == 0 {
		out.RawStr("{}")
	}
	return nil
}

func readBody(r *http.Request, b []byte) ([]byte, error) {
	if n := r.ContentLength; n > int64(cap(b)) {
		b = make([]byte, 0, n)
	}
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
