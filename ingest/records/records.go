package records

import (
	"bytes"
	"context"
	"errors"
	"sort"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
)

// Record is a queue record: one message of a queue, or one record of a stream such as Kinesis.
type Record struct {
	Data []byte
	From string // names the record in rejects, such as a shard and a sequence number
	// At is the time at which the record arrived at the queue. If the target accepts readings without a
	// time, At is their event time, so that a retry stores the same readings. If At is zero, Store uses
	// the current time.
	At time.Time
	// Err is the reason why Data is not readable. If set, Data is stored as a reject.
	Err error
}

// Receiver stores queue records. It is safe for concurrent use.
type Receiver struct {
	Ingester *ingest.Ingester
	Lines    *wire.LineMapping // assigns the tags of line protocol; if nil, the default mapping applies
	Now      func() time.Time
}

// maxBody is the maximum size of a body with several records, in bytes.
const maxBody = 4 << 20

// Store stores the records of a delivery that has only one part.
func (r *Receiver) Store(ctx context.Context, g *apikeys.Grant, t *Target, list []Record) (wire.Tally, error) {
	return r.Begin(g, t).Store(ctx, list)
}

// Begin begins a delivery with the rights of a grant.
func (r *Receiver) Begin(g *apikeys.Grant, t *Target) *Delivery {
	return &Delivery{Receiver: r, grant: g, target: t}
}

// Delivery is a list of queue records that its sender resends as a whole, in one or more parts. The key's
// rate admits a delivery as a whole: after its first readings, Store does not fail because of the rate.
// Only one goroutine may use it.
type Delivery struct {
	*Receiver
	grant  *apikeys.Grant
	target *Target
}

// Store stores the readings of a part of the delivery. If it returns nil, each reading is durable, as a
// reading or as a reject, except rejects that were discarded because of their limit. After an error, all
// records can be retried.
func (d *Delivery) Store(ctx context.Context, list []Record) (wire.Tally, error) {
	w, t := &write{Delivery: d, ctx: ctx, arrived: d.Now()}, d.target
	var b body
	for i := range list {
		if list[i].Err != nil {
			if err := w.rejectRecord(&list[i], list[i].Err); err != nil {
				return w.tally, err
			}
			continue
		}
		text := t.lines(list[i].Data)
		if len(text) == 0 {
			continue
		}
		if list[i].At.IsZero() {
			list[i].At = w.arrived
		}
		if b.isFull(&list[i], t, text) {
			if err := w.storeBody(&b); err != nil {
				return w.tally, err
			}
			b.reset()
		}
		b.add(&list[i], t, text)
	}
	return w.tally, w.storeBody(&b)
}

// body collects the lines of several records, which one session stores.
type body struct {
	text    []byte
	lines   int
	isWhole bool      // if true, no further record may be added
	at      time.Time // Record.At of the first record
	records []*Record
	starts  []int // number of the first line of each record in text, from 1
}

func (b *body) reset() {
	*b = body{text: b.text[:0], records: b.records[:0], starts: b.starts[:0]}
}

// isFull reports whether a record must begin a new body. A quoted string of line protocol may span
// lines, so an open quote would include the next record.
func (b *body) isFull(r *Record, t *Target, text []byte) bool {
	if len(b.records) == 0 {
		return false
	}
	if t.needsArrival(text) && !b.at.Equal(r.At) {
		return true
	}
	return b.isWhole || len(b.text)+len(text) > maxBody ||
		t.Format == wire.Line && bytes.IndexByte(text, '"') >= 0
}

var newline = []byte{'\n'}

func (b *body) add(r *Record, t *Target, text []byte) {
	if len(b.records) == 0 {
		b.at = r.At
	}
	b.records, b.starts = append(b.records, r), append(b.starts, b.lines+1)
	b.text = append(append(b.text, text...), '\n')
	b.lines += bytes.Count(text, newline) + 1
	b.isWhole = t.Format == wire.Line && bytes.IndexByte(text, '"') >= 0
}

func (b *body) recordAt(line int) *Record {
	i := sort.Search(len(b.starts), func(i int) bool { return b.starts[i] > line })
	return b.records[max(i-1, 0)]
}

// write is a part of a delivery that is being stored.
type write struct {
	*Delivery
	ctx     context.Context
	arrived time.Time
	tally   wire.Tally
}

func (w *write) source(text []byte, at time.Time) *ingest.Source {
	src := &ingest.Source{
		Format: w.target.bodyFormat(), Body: bytes.NewReader(text), Defaults: w.target.Defaults, ArrivalIsTime: w.target.ArrivalIsTime,
		Large: len(text) > ingest.SmallBody, DurableRejects: true,
	}
	src.Defaults.Lines, src.Defaults.Now = w.Lines, func() time.Time { return at }
	if src.ArrivalIsTime {
		src.Defaults.Arrival = at
	}
	return src
}

// storeBody stores a body in a session of its own. If the body cannot be read to its end, its
// records are stored one by one. A single record that cannot be read becomes a reject.
func (w *write) storeBody(b *body) error {
	if len(b.records) == 0 {
		return nil
	}
	tally, err := w.readBody(b)
	if err != nil && isFinal(err) {
		if len(b.records) == 1 {
			return w.rejectRecord(b.records[0], err)
		}
		return w.storeEach(b)
	}
	w.add(tally)
	return err
}

func (w *write) storeEach(b *body) error {
	for _, r := range b.records {
		var one body
		one.add(r, w.target, w.target.lines(r.Data))
		if err := w.storeBody(&one); err != nil {
			return err
		}
	}
	return nil
}

func (w *write) add(t wire.Tally) {
	w.tally.Stored += t.Stored
	w.tally.Duplicates += t.Duplicates
	w.tally.Rejected += t.Rejected
}

func (w *write) readBody(b *body) (wire.Tally, error) {
	session, err := w.Ingester.Begin(w.grant)
	if err != nil {
		return wire.Tally{}, err
	}
	defer session.Close()
	src := w.source(b.text, b.at)
	src.FromOf = func(line int) string { return b.recordAt(line).From }
	var temporary error
	src.Rejected = func(r ingest.Rejection) {
		if temporary == nil && r.Verdict.Code.Retryable() {
			temporary = varve.Errorf(varve.Unavailable, "%s: %s", r.Verdict.Code, r.Verdict.Message)
		}
	}
	err = session.Read(w.ctx, src)
	if session.Charged {
		w.grant = w.grant.Admitted()
	}
	if temporary != nil && (err == nil || isFinal(err)) {
		err = temporary // before the body becomes a reject, its valid readings must be stored
	}
	return session.Tally, err
}

func (w *write) rejectRecord(r *Record, reason error) error {
	session, err := w.Ingester.Begin(w.grant)
	if err != nil {
		return err
	}
	defer session.Close()
	src := w.source(nil, w.arrived)
	src.From = r.From
	if err := session.RejectBody(w.ctx, src, r.Data, reason); err != nil {
		return err
	}
	w.tally.Rejected++
	return nil
}

// isFinal reports whether an error about a body recurs with each retry.
func isFinal(err error) bool {
	var unreadable *wire.BodyError
	return errors.As(err, &unreadable) || varve.FailureOf(err) == varve.Invalid
}
