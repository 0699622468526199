package ingest

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rejects"
)

// recordRejects stores the rejected readings of the batch as rejects. It omits readings that a retry
// may store. With Source.DurableRejects, the rejects are durable, and recordRejects fails if the store fails.
//
// In streams with a quarantine, readings with an unacceptable time become durable rejects. Their
// verdict depends on the result:
//
//   - If the reject is stored, the code is varve.CodeQuarantined.
//   - If the store fails, the code is retryable, unless recordRejects fails.
//   - If the reject is beyond the limit, the verdict does not change.
func (s *Session) recordRejects(ctx context.Context, src *Source) error {
	reg := s.in.opts.Rejects
	if !reg.On() {
		return nil
	}
	options := ""
	var soon, durable []rejects.Reject
	var verdicts []*varve.Verdict // for each durable reject, the verdict to change; nil if the reading is not quarantined
	for i := range s.batch.Lines {
		at := s.batch.Index(i)
		v := &s.batch.Verdicts[at]
		if v.Outcome != varve.Rejected || v.Code.Retryable() {
			continue
		}
		if options == "" {
			options = wire.FormatParams(&src.Defaults, &src.Columns, src.ArrivalIsTime).Encode()
		}
		r := s.rejectOf(src, i, at)
		r.Options = options
		switch quarantine := isClock(v.Code) && reg.Quarantines(s.batch.Readings[at].Stream); {
		case quarantine:
			r.Code = varve.CodeQuarantined
			durable, verdicts = append(durable, r), append(verdicts, v)
		case src.DurableRejects:
			durable, verdicts = append(durable, r), append(verdicts, nil)
		default:
			soon = append(soon, r)
		}
	}
	reg.Offer(soon)
	if len(durable) == 0 {
		return nil
	}
	kept, err := reg.Add(ctx, durable)
	if err != nil && src.DurableRejects {
		return err
	}
	for i, v := range verdicts {
		switch {
		case v == nil:
		case err != nil:
			*v = varve.Reject(varve.CodeUnavailable, "the reading could not be stored as a reject: %s", err)
		case kept[i]:
			*v = varve.Reject(varve.CodeQuarantined, "%s: stored as reject %s", v.Message, durable[i].ID)
		}
	}
	return nil
}

// isClock reports whether a wrong clock or a wrong unit of time may be the reason for a rejection.
func isClock(c varve.Code) bool {
	return c == varve.CodeTimeInFuture || c == varve.CodeTimeTooOld || c == varve.CodeTimeUnit
}

// rejectOf returns a rejected reading of the batch as a reject. The argument i is the index of its text
// and line in the batch, and the argument "at" is its index in Batch.Readings.
func (s *Session) rejectOf(src *Source, i, at int) rejects.Reject {
	reading, v := &s.batch.Readings[at], &s.batch.Verdicts[at]
	r := s.newReject(src, v)
	if src.FromOf != nil {
		r.From = src.FromOf(s.batch.Lines[i])
	}
	r.Stream, r.Device = reading.Stream, reading.Device
	r.Format, r.Text, r.Header = src.Format.Name(), string(s.batch.Text(i)), string(s.batch.Header())
	if v.Code != varve.CodeTimeTooOld && !reading.Time.Before(time.Unix(0, 0)) {
		r.Time = reading.Time
	}
	return r
}

func (s *Session) newReject(src *Source, v *varve.Verdict) rejects.Reject {
	r := rejects.Reject{
		Tenant: src.Defaults.Tenant, Stream: src.Defaults.Stream, Door: s.in.opts.Door, From: src.From,
		First: s.request.Arrived(), Code: v.Code, Message: v.Message, Times: 1,
	}
	if r.From == "" {
		r.From = s.grant.ID
	}
	return r
}

// RejectBody stores an unreadable message as a reject, with the reason. If it returns nil, the
// reject is durable, or was discarded because of the limit.
//
// Doors that cannot inform the sender call RejectBody before they acknowledge a message. The reject can be
// replayed only if the source has a format and a stream.
func (s *Session) RejectBody(ctx context.Context, src *Source, message []byte, reason error) error {
	v := varve.Reject(varve.CodeMalformed, "%s", reason)
	r := s.newReject(src, &v)
	r.Format, r.Text = src.Format.Name(), string(message)
	r.Options = wire.FormatParams(&src.Defaults, &src.Columns, src.ArrivalIsTime).Encode()
	_, err := s.in.opts.Rejects.Add(ctx, []rejects.Reject{r})
	return err
}
