package uplink

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

const (
	// attemptLimit is the longest time for one attempt, without the time to transfer the body.
	attemptLimit = time.Minute
	// retryLimit replaces attemptLimit while any stream has postponed readings, so that streams wait less
	// for each other.
	retryLimit = 20 * time.Second
	// transferByte is the longest time to transfer one byte.
	transferByte = time.Millisecond
	// readyLimit is the longest time for an answer of /readyz.
	readyLimit = 10 * time.Second
)

// retryable has the readings of a body that the server may store later, and the reason of the last
// one.
type retryable struct {
	rows   []row
	reason string
}

// attempt sends the next body of a delivery. It returns the readings that the server may store later.
func (s *Sender) attempt(ctx context.Context, d *delivery) (left retryable, err error) {
	n := d.part
	body, err := s.body.pack(d.left.rows[:n])
	if err != nil {
		return left, err
	}
	if err := s.await(ctx, len(body), n); err != nil {
		return left, err
	}
	limited, stop := context.WithTimeout(ctx, d.limit+time.Duration(len(body))*transferByte)
	defer stop()
	begin := time.Now()
	answer, err := s.opts.Client.Write(limited, d.stream, client.Body{Data: body, Encoding: "gzip", Format: wire.NDJSON})
	d.took = time.Since(begin)
	d.spent += d.took
	if err != nil {
		return left, err
	}
	if answer.Truncated && n > 1 {
		// A rejection that is not listed may be temporary. In smaller bodies, all are listed.
		return left, varve.Errorf(varve.Invalid, "the answer lists %d of %d rejected readings", len(answer.Rejects), answer.Rejected)
	}
	t := wire.Tally{Stored: answer.Stored, Duplicates: answer.Duplicates, Rejected: answer.Rejected, Queued: answer.Queued}
	if t.Total() != int64(n) || int64(len(answer.Rejects)) != t.Rejected {
		return left, varve.Errorf(varve.Unavailable, "the answer has verdicts on %d readings of %d: check that server.url is a Varve server", t.Total(), n)
	}
	for i := range answer.Rejects {
		r := &answer.Rejects[i]
		switch {
		case r.Index < 0 || r.Index >= int64(n):
			return left, varve.Errorf(varve.Unavailable, "the answer rejects reading %d of %d: check that server.url is a Varve server", r.Index, n)
		case varve.Code(r.Code).Retryable():
			left.rows, left.reason = append(left.rows, d.left.rows[r.Index]), r.Message
			t.Rejected--
		default:
			s.opts.Events.Rejected(d.stream, r)
		}
	}
	s.total.Add(t)
	s.opts.Events.Sent(t, len(body))
	return left, nil
}

// isReady reports whether the server answers that it stores readings. The answer 404 counts as ready, because
// a proxy may route only the paths of the API.
func (s *Sender) isReady(ctx context.Context) bool {
	limited, stop := context.WithTimeout(ctx, readyLimit)
	defer stop()
	answer, err := s.opts.Client.Ready(limited)
	return err == nil && answer.Ready || varve.FailureOf(err) == varve.NotFound
}

// await waits until the rates allow a body.
func (s *Sender) await(ctx context.Context, bytes, readings int) error {
	for _, l := range []struct {
		limit *rate.Limiter
		n     int
	}{{s.bytes, bytes}, {s.readings, readings}} {
		for l.limit != nil && l.n > 0 {
			part := min(l.n, l.limit.Burst())
			if err := l.limit.WaitN(ctx, part); err != nil {
				return err
			}
			l.n -= part
		}
	}
	return nil
}
