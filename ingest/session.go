package ingest

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/router"
)

// SmallBody is the maximum size of a small body in bytes. A small body does not wait for large
// ones.
const SmallBody = 32 << 10

// maxInvalid is the number of invalid readings that a body may have in addition to half of its
// readings. A body with more of them probably contains other data, so the rest is not parsed.
const maxInvalid = 100_000

// Options configures an Ingester.
type Options struct {
	Router *router.Router
	// Budget limits the memory of all sessions together.
	Budget *wire.Budget
	// Judged is called after the verdicts of each batch are counted. It may be nil.
	Judged func(*wire.Batch)
	// Now is the clock of the rates of keys. If nil, time.Now is used.
	Now func() time.Time
}

// Ingester begins sessions. It is safe for concurrent use.
type Ingester struct{ opts Options }

// New returns an ingester.
func New(o Options) *Ingester {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Judged == nil {
		o.Judged = func(*wire.Batch) {}
	}
	return &Ingester{opts: o}
}

// Session is one write of readings: a body, a message or a file. Only one goroutine may use it.
type Session struct {
	state
	batch wire.Batch
	mem   wire.Memory
}

// state is the part of a session that is cleared when the session ends. The rest is memory that
// later sessions reuse.
type state struct {
	// Tally counts the verdicts so far.
	Tally varve.Tally
	// Retryable reports that a retry may succeed for all rejections so far.
	Retryable bool
	// SkippedCells is the number of cells that were omitted, because they are not values.
	SkippedCells int64

	in      *Ingester
	grant   *apikeys.Grant
	request *router.Request
	turn    *router.Turn
	invalid int64         // readings rejected permanently, except conflicts
	first   varve.Verdict // the verdict on the first reading that invalid counts
	charged bool          // whether readings of the body were charged to the key's rate
}

// sessions holds the memory of ended sessions.
var sessions = sync.Pool{New: func() any { return new(Session) }}

// Begin begins a session with the rights of a key. The caller must end it with Close.
//
// It fails with varve.Busy if the key's rate is exceeded, or if too many writes are under way.
func (in *Ingester) Begin(g *apikeys.Grant) (*Session, error) {
	if wait := g.Write(in.opts.Now()); wait > 0 {
		return nil, apikeys.TooFast("readings", wait)
	}
	request, err := in.opts.Router.Admit()
	if err != nil {
		return nil, err
	}
	s := sessions.Get().(*Session)
	s.in, s.grant, s.request, s.turn, s.Retryable = in, g, request, request.Turn(), true
	s.batch.Share(in.opts.Budget)
	return s, nil
}

// Close ends the session. Its tally is not valid afterwards.
func (s *Session) Close() {
	s.request.Done()
	s.batch.Share(nil)
	s.batch.Reset()
	s.state = state{}
	sessions.Put(s)
}

// Body returns a body that gives up the session's router.Turn while it waits for the sender. So a
// slow upload does not delay others.
func (s *Session) Body(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	return yielding{body, ctx, s.turn}
}

// Source describes the readings of a session.
type Source struct {
	Format   wire.Format
	Body     io.Reader // a body from Session.Body, or a body in memory
	Defaults wire.Defaults
	Columns  wire.Columns // columns of CSV
	// ArrivalIsTime gives readings without a time the arrival of the session.
	ArrivalIsTime bool
	Large         bool // the body is known to be larger than SmallBody
	// Rejected is called for each rejected reading. Session.Read accepts nil, Session.Check does
	// not.
	Rejected func(Rejection)
}

// Rejection is a rejected reading of a source. It is valid during the call that receives it.
type Rejection struct {
	Index   int64  // of the reading in the source
	Line    int    // of the source, from 1; 0 if the format has no lines
	Text    []byte // of the reading, if the format keeps it
	Verdict *varve.Verdict
}

// Read decodes the source batch by batch and stores its readings. An error concerns the whole
// source. Verdicts that were counted before remain valid.
func (s *Session) Read(ctx context.Context, src *Source) error {
	defaults := src.Defaults
	if src.ArrivalIsTime {
		defaults.Arrival = s.request.Arrived()
	}
	reader, err := wire.NewReader(&s.mem, src.Format, src.Body, defaults, src.Columns)
	if err != nil {
		return err
	}
	index := int64(0)
	for large := src.Large; ; large = true {
		done, err := s.readBatch(ctx, src, reader, index, large)
		if done || err != nil {
			return err
		}
		index += int64(s.batch.Len())
	}
}

// Check decodes the source and reports the readings that can never be stored. It stores nothing
// and charges nothing. It returns the number of readings.
func (s *Session) Check(ctx context.Context, src *Source) (readings int64, err error) {
	reader, err := wire.NewReader(&s.mem, src.Format, src.Body, src.Defaults, src.Columns)
	for err == nil {
		if err = s.turn.Begin(ctx, true); err != nil {
			return readings, err
		}
		s.batch.Reset()
		err = reader.Read(&s.batch)
		for i := range s.batch.Verdicts {
			v := &s.batch.Verdicts[i]
			if v.Outcome == 0 {
				*v = s.batch.Readings[i].NormalizeValues()
			}
			if v.Outcome == varve.Rejected {
				src.Rejected(Rejection{Index: readings + int64(i), Line: s.batch.Lines[i], Text: s.batch.Text(i), Verdict: v})
			}
		}
		readings += int64(s.batch.Len())
		s.turn.End()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return readings, err
}

// readBatch reads the next batch and stores it. If done is true, it was the last batch.
func (s *Session) readBatch(ctx context.Context, src *Source, reader wire.Reader, index int64, large bool) (done bool, err error) {
	if err := s.turn.Begin(ctx, large); err != nil {
		return false, err
	}
	defer s.turn.End()
	s.batch.Reset()
	readErr := reader.Read(&s.batch)
	s.SkippedCells += s.batch.SkippedCells
	if s.batch.Len() > 0 {
		s.batch.Sort()
		if err := s.charge(); err != nil {
			return false, err
		}
		if err := s.request.Write(ctx, s.batch.Readings, s.batch.Verdicts); err != nil {
			return false, err
		}
		s.countVerdicts(src, index)
	}
	if s.invalid > maxInvalid+s.Tally.Total()/2 {
		return false, varve.Errorf(varve.Invalid, "most readings are invalid and the rest was not read: check the format; the first is %s: %s",
			s.first.Code, s.first.Message)
	}
	if errors.Is(readErr, io.EOF) {
		return true, nil
	}
	return false, readErr
}

// charge charges the batch to the key's rate. It fails only for the first batch of a session.
func (s *Session) charge() error {
	now := s.in.opts.Now()
	if s.charged {
		s.grant.Readings(now, s.batch.Len())
		return nil
	}
	s.charged = true
	if wait := s.grant.Begin(now, s.batch.Len()); wait > 0 {
		return apikeys.TooFast("readings", wait)
	}
	return nil
}

// countVerdicts counts the verdicts of the batch, and reports its rejections.
func (s *Session) countVerdicts(src *Source, index int64) {
	for i := range s.batch.Lines {
		v := &s.batch.Verdicts[s.batch.Index(i)]
		s.Tally.Count(*v)
		if v.Outcome != varve.Rejected {
			continue
		}
		s.Retryable = s.Retryable && v.Code.Retryable()
		if !v.Code.Retryable() && v.Code != varve.CodeConflict {
			if s.invalid++; s.invalid == 1 {
				s.first = *v
			}
		}
		if src.Rejected != nil {
			src.Rejected(Rejection{Index: index + int64(i), Line: s.batch.Lines[i], Text: s.batch.Text(i), Verdict: v})
		}
	}
	s.in.opts.Judged(&s.batch)
}

// yielding is a body that gives up the router.Turn of a session while it waits for the sender.
type yielding struct {
	io.ReadCloser
	ctx  context.Context
	turn *router.Turn
}

func (y yielding) Read(p []byte) (int, error) {
	held := y.turn.End()
	n, err := y.ReadCloser.Read(p)
	if held && err == nil {
		err = y.turn.Begin(y.ctx, true)
	}
	return n, err
}
