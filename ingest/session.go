package ingest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/clocks"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/internal/reuse"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/router"
)

// SmallBody is the maximum size of a small body in bytes. The decoding of a small body does not
// wait for large ones.
const SmallBody = 32 << 10

// maxInvalid is the number of invalid readings that a body may have in addition to half of its
// readings. A body with more of them probably contains other data, so the rest is not parsed. Sources with
// Source.DurableRejects are parsed to their end, because their senders cannot correct and resend them.
const maxInvalid = 100_000

// Options configures an Ingester.
type Options struct {
	Router *router.Router
	// Destination receives the readings instead of Router, if it is set.
	Destination Destination
	// Budget limits the memory of all sessions together.
	Budget *wire.Budget
	// BatchReadings limits the readings that are decoded and stored at a time. 0 means
	// wire.BatchReadings.
	BatchReadings int
	// BatchBytes limits the approximate size of these readings in bytes. 0 means wire.BatchBytes.
	BatchBytes int
	// Received is called with the number of readings of each batch, before they are stored. It may be
	// nil.
	Received func(readings int)
	// Judged is called with each batch after its readings have verdicts. It may be nil.
	Judged func(*wire.Batch)
	// Rejects stores rejected readings. If nil, none are stored.
	Rejects *rejects.Registry
	// Clocks corrects readings of devices with a wrong clock. If nil, none are corrected.
	Clocks *clocks.Corrector
	// Door is the name of the sessions' protocol, such as http. Rejects record it.
	Door string
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
	if o.Destination == nil {
		o.Destination = routed{o.Router}
	}
	if o.Received == nil {
		o.Received = func(int) {}
	}
	if o.Judged == nil {
		o.Judged = func(*wire.Batch) {}
	}
	return &Ingester{opts: o}
}

// LateFrom is the lag from which a reading counts as late.
const LateFrom = time.Hour

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
	Tally wire.Tally
	// Retryable is true if no rejection so far is permanent, so that a retry may succeed.
	Retryable bool
	// SkippedCells is the number of cells that were omitted, because they are not values.
	SkippedCells int64
	// Late is the number of stored readings that arrived LateFrom or more after their event time.
	Late int64
	// TextNumbers is the number of cells that look like numbers, such as 1,50, and were read as text.
	TextNumbers int64
	// Charged is true if readings of the body were charged to the key's rate.
	Charged bool

	in      *Ingester
	grant   *apikeys.Grant
	request Request
	turn    Turn
	invalid int64         // number of readings that were rejected permanently, except conflicts
	first   varve.Verdict // the verdict on the first of these invalid readings
}

// sessions holds sessions that have ended. Later sessions reuse their memory.
var sessions reuse.List[Session]

// Begin begins a session with the rights of a key. The caller must end it with Close.
//
// Begin fails with varve.Busy if the key's rate is exceeded, or if too many writes are under way.
func (in *Ingester) Begin(g *apikeys.Grant) (*Session, error) {
	if wait := g.Write(in.opts.Now()); wait > 0 {
		return nil, apikeys.TooFast("readings", wait)
	}
	request, err := in.opts.Destination.Admit()
	if err != nil {
		return nil, err
	}
	s := sessions.Get()
	s.in, s.grant, s.request, s.turn, s.Retryable = in, g, request, request.Turn(), true
	s.batch.Share(in.opts.Budget)
	s.batch.MaxReadings, s.batch.MaxBytes = in.opts.BatchReadings, in.opts.BatchBytes
	s.batch.RecordTexts = in.opts.Rejects.On()
	return s, nil
}

// Pace returns a pace for sources that wait in a queue. It rests while live writes arrive at the
// router. If the destination is not a router, the pace never rests.
func (in *Ingester) Pace() *lanes.Pace {
	if in.opts.Router == nil {
		return lanes.New(in.opts.Now).Pace()
	}
	return in.opts.Router.Pace()
}

// Close ends the session. The session must not be used afterward.
func (s *Session) Close() {
	s.request.Done()
	s.batch.Share(nil)
	s.batch.Reset()
	s.batch.Shrink()
	s.batch.StartBody()
	s.state = state{}
	sessions.Put(s)
}

// Body returns a body that gives up the session's Turn while it waits for the sender. So a
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
	// ArrivalIsTime means that the arrival is the event time of readings without a time. This is the
	// arrival in Defaults or, if that is missing, the arrival of the session.
	ArrivalIsTime bool
	Large         bool // if true, the body is known to be larger than SmallBody
	// Queued means that the source waited in a queue, as messages of a broker do. Bulk work rests for the
	// small body of a live write, but not for such a source.
	Queued bool
	// From names the sender in rejects, such as a topic. If empty, it is the id of the key.
	From string
	// FromOf returns the sender of the reading on a line, counted from 1. If nil, From is the
	// sender of all readings.
	FromOf func(line int) string
	// DurableRejects stores rejects durably before Read returns. A door that cannot send verdicts to
	// the sender, such as a queue, sets DurableRejects. If the store of rejects fails, Read fails, and
	// the door must not acknowledge the body. Rejects beyond the limit are discarded, and Read does
	// not fail.
	DurableRejects bool
	// Rejected is called for each rejected reading. Session.Read accepts nil, Session.Check does
	// not.
	Rejected func(Rejection)
}

// Rejection is a rejected reading of a source. Its memory is reused after the call of Source.Rejected.
type Rejection struct {
	Index   int64  // index of the reading in the source
	Line    int    // first line of the reading in the source, from 1; 0 if the format has no lines
	Text    []byte // text of the reading; nil if Options.Rejects stores no rejects, except for line protocol
	Verdict *varve.Verdict
}

// Read decodes the source batch by batch and stores its readings. An error means that the source was not
// read and stored to its end. The tally includes the complete batches, whose verdicts remain valid. Other
// readings may be stored or not.
func (s *Session) Read(ctx context.Context, src *Source) error {
	defaults := src.Defaults
	if src.ArrivalIsTime && defaults.Arrival.IsZero() {
		defaults.Arrival = s.request.Arrived()
	}
	reader, err := wire.NewReader(&s.mem, src.Format, src.Body, defaults, src.Columns)
	if err != nil {
		return err
	}
	s.batch.StartBody()
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
	for large := src.Large; err == nil; large = true {
		if err = s.turn.Begin(ctx, large); err != nil {
			return readings, err
		}
		s.batch.Reset()
		err = reader.Read(&s.batch)
		for i := range s.batch.Verdicts {
			v := &s.batch.Verdicts[i]
			if v.Outcome == 0 {
				*v = s.batch.Readings[i].NormalizeNew()
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

// readBatch reads the next batch and stores it. If the result "done" is true, the batch was the
// last one.
func (s *Session) readBatch(ctx context.Context, src *Source, reader wire.Reader, index int64, large bool) (done bool, err error) {
	if large || !src.Queued {
		if err := s.turn.Begin(ctx, large); err != nil {
			return false, err
		}
	}
	defer s.turn.End()
	s.batch.Reset()
	readErr := reader.Read(&s.batch)
	s.SkippedCells += s.batch.SkippedCells
	s.TextNumbers += s.batch.TextNumbers
	if s.batch.Len() > 0 {
		s.in.opts.Received(s.batch.Len())
		s.batch.Sort()
		if err := s.charge(s.batch.Len()); err != nil {
			return false, err
		}
		if err := s.writeReadings(ctx); err != nil {
			return false, err
		}
		if err := s.recordRejects(ctx, src); err != nil {
			return false, err
		}
		s.countVerdicts(src, index)
	}
	if s.invalid > maxInvalid+s.Tally.Total()/2 && !src.DurableRejects {
		return false, varve.Errorf(varve.Invalid, "most readings are invalid and the rest was not read: check the format; the first is %s: %s",
			s.first.Code, s.first.Message)
	}
	if errors.Is(readErr, io.EOF) {
		return true, nil
	}
	return false, readErr
}

// charge counts readings against the rate of the key. It fails only for the first batch of a session, so
// that a body is refused as a whole or not at all.
func (s *Session) charge(readings int) error {
	now := s.in.opts.Now()
	if s.Charged {
		s.grant.Readings(now, readings)
		return nil
	}
	if wait := s.grant.Begin(now, readings); wait > 0 {
		return apikeys.TooFast("readings", wait)
	}
	s.Charged = true
	return nil
}

// countVerdicts counts the verdicts of the batch, and reports its rejections.
func (s *Session) countVerdicts(src *Source, index int64) {
	for i := range s.batch.Lines {
		n := s.batch.Index(i)
		v := &s.batch.Verdicts[n]
		s.Tally.Count(*v)
		if v.Outcome == varve.Stored && s.request.Arrived().Sub(s.batch.Readings[n].Time) >= LateFrom {
			s.Late++
		}
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

// yielding is a body that gives up the Turn of a session while it waits for the sender.
type yielding struct {
	io.ReadCloser
	ctx  context.Context
	turn Turn
}

func (y yielding) Read(p []byte) (int, error) {
	held := y.turn.End()
	n, err := y.ReadCloser.Read(p)
	if !held {
		return n, err
	}
	// After an error, too, the session decodes and writes the readings before it.
	if late := y.turn.Begin(y.ctx, true); late != nil && (err == nil || errors.Is(err, io.EOF)) {
		err = late
	}
	return n, err
}
