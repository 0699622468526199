package ingest

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rejects"
)

// Replay describes how Session.Replay rereads the texts of rejects. The zero Replay uses the parameters
// that the sender used.
type Replay struct {
	Precision wire.Precision // unit of numeric times; 0 means the unit that the sender used
	Shift     time.Duration  // duration that is added to all event times
	Device    string         // if set, replaces the device of all readings
	// ArrivalIsTime replaces the event time of all readings with the first arrival of their reject.
	ArrivalIsTime bool
	// DryRun checks the readings, and stores nothing.
	DryRun bool
	Lines  *wire.LineMapping
}

// Replayed is the result of the replay of one reject.
type Replayed struct {
	ID    string
	Tally wire.Tally
	Valid int64 // in a dry run, the number of readings that can be stored, or are stored already
	// Skipped means that the reject was not read: its text is cut, or its text, format or stream is
	// missing.
	Skipped bool
	// Problem is the first rejection, or zero.
	Problem varve.Verdict
}

// Done reports whether all readings of the reject are stored, so that the reject is not needed.
func (r *Replayed) Done() bool { return r.Tally.Rejected == 0 && r.Tally.Total() > 0 }

// replayAtOnce is the maximum number of rejects whose readings are written together.
const replayAtOnce = 500

// Replay rereads the texts of rejects and stores their readings. The rejects must belong to the
// tenant of the session's key.
//
// A reject is deleted after all its readings are durable. So a replay that was interrupted can be
// repeated: readings that it stored are duplicates. Other rejects stay as they are.
//
// An error means that some rejects were not replayed, or not deleted after their replay. Even then,
// each reject has a result. If a reject was not replayed because of the error, its problem has the code
// varve.CodeUnavailable.
func (s *Session) Replay(ctx context.Context, list []rejects.Reject, how *Replay) ([]Replayed, error) {
	results := make([]Replayed, 0, len(list))
	for len(list) > 0 {
		n := min(len(list), replayAtOnce)
		part, err := s.replayPart(ctx, list[:n], how)
		results, list = append(results, part...), list[n:]
		if err != nil {
			return append(results, unavailable(list, err)...), err
		}
	}
	return results, nil
}

// unavailable returns the results of rejects that were not replayed because of an error.
func unavailable(list []rejects.Reject, err error) []Replayed {
	results := make([]Replayed, len(list))
	for i := range list {
		results[i] = Replayed{ID: list[i].ID, Problem: varve.Reject(varve.CodeUnavailable, "not replayed: %s", err)}
	}
	return results
}

// replayPart replays up to replayAtOnce rejects, and writes their readings together.
func (s *Session) replayPart(ctx context.Context, list []rejects.Reject, how *Replay) ([]Replayed, error) {
	if err := s.turn.Begin(ctx, true); err != nil {
		return unavailable(list, err), err
	}
	defer s.turn.End()
	p := replayPart{results: make([]Replayed, len(list))}
	for i := range list {
		p.results[i].ID = list[i].ID
		if obstacle := list[i].Obstacle(); obstacle.Outcome != 0 {
			p.results[i].Skipped, p.results[i].Problem = true, obstacle
			continue
		}
		if err := s.parseReject(&p, i, &list[i], how); err != nil {
			p.results[i].Tally.Rejected++
			p.results[i].Problem = varve.Reject(varve.CodeMalformed, "%s", err)
		}
	}
	if how.DryRun {
		s.request.Check(p.readings, p.verdicts)
		p.count()
		return p.results, nil
	}
	if err := s.charge(len(p.readings)); err != nil {
		return unavailable(list, err), err
	}
	if err := s.request.Write(ctx, p.readings, p.verdicts); err != nil {
		return unavailable(list, err), err
	}
	s.in.opts.Judged(&wire.Batch{Readings: p.readings, Verdicts: p.verdicts})
	p.count()
	var done []rejects.Reject
	for i := range list {
		if p.results[i].Done() {
			done = append(done, list[i])
		}
	}
	return p.results, s.in.opts.Rejects.Delete(ctx, s.grant.Tenant, done)
}

type replayPart struct {
	results  []Replayed
	readings []varve.Reading
	verdicts []varve.Verdict
	owners   []int // for each reading, the index of its result in results
}

func (p *replayPart) count() {
	for i, v := range p.verdicts {
		r := &p.results[p.owners[i]]
		if v.Outcome == 0 {
			r.Valid++
			continue
		}
		r.Tally.Count(v)
		if v.Outcome == varve.Rejected && r.Problem.Outcome == 0 {
			r.Problem = v
		}
	}
}

// parseReject adds the readings of a reject. An error means that the text cannot be read to its end.
func (s *Session) parseReject(p *replayPart, owner int, r *rejects.Reject, how *Replay) error {
	reader, err := s.rejectReader(r, how)
	if err != nil {
		return err
	}
	for err == nil {
		s.batch.Reset()
		err = reader.Read(&s.batch)
		for i := range s.batch.Readings {
			reading, v := s.batch.Readings[i].Clone(), s.batch.Verdicts[i]
			if v.Outcome == 0 && how.Shift != 0 {
				reading.Time = reading.Time.Add(how.Shift)
			}
			p.readings, p.verdicts, p.owners = append(p.readings, reading), append(p.verdicts, v), append(p.owners, owner)
		}
	}
	s.batch.Reset()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// rejectReader returns a reader of the text of a reject. It uses the parameters with which the text
// was sent, unless the replay replaces them.
func (s *Session) rejectReader(r *rejects.Reject, how *Replay) (wire.Reader, error) {
	format, ok := wire.ParseBodyFormat(r.Format)
	if !ok {
		return nil, varve.Errorf(varve.Invalid, "format %s: unknown: resend the reading", r.Format)
	}
	q, err := url.ParseQuery(r.Options)
	if err != nil {
		return nil, varve.Errorf(varve.Invalid, "options of the reject: not a query: resend the reading")
	}
	d := wire.Defaults{Tenant: s.grant.Tenant, Stream: r.Stream, Lines: how.Lines, Now: func() time.Time { return r.First }}
	columns, arrivalIsTime, err := wire.ParseParams(q, &d)
	if err != nil {
		return nil, err
	}
	if how.Precision != 0 {
		d.Time.Precision = how.Precision
	}
	if arrivalIsTime {
		d.Arrival = r.First
	}
	if how.ArrivalIsTime || how.Device != "" {
		d.Replace = &wire.Replacement{Device: how.Device}
		if how.ArrivalIsTime {
			d.Replace.Time = r.First
		}
	}
	if how.Device != "" && columns.DeviceColumns != "" {
		return nil, varve.InvalidParam("device", "each column of the row is a device: replay it without device")
	}
	text := r.Text
	if r.Header != "" {
		text = r.Header + "\n" + text
	}
	s.batch.StartBody()
	return wire.NewReader(&s.mem, format, strings.NewReader(text), d, columns)
}
