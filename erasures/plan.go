package erasures

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// maxPlanAge is how old a plan may be when an erasure begins.
const maxPlanAge = 24 * time.Hour

// Count is the number of readings of a stream in a table or an archive.
type Count struct {
	Table, Stream string
	Readings      int64
	Hold          string // reason of the hold that keeps these readings; "" without a hold
}

// Traces counts the records that an erasure deletes in addition to readings.
type Traces struct {
	Rollups      int // number of stored partials of roll-ups
	Alerts       int
	Logs         int // number of entries in the device's log
	Rejects      int
	Records      int  // number of other records about the device and its series
	Registration bool // whether the registration of the device is deleted
}

// Plan lists the data that an erasure would delete.
type Plan struct {
	Target
	Arrived time.Time // readings that arrived later are not erased
	Tables  []Count   // numbers of readings of the target, by table and stream
	// Archives has the archives with readings of the target. The counts include readings with any
	// arrival, in all days that the window touches.
	Archives []Count
	Traces
}

// Readings counts the readings in tables. It returns the number that can be erased now, and the number on
// hold.
func (p *Plan) Readings() (erasable, held int64) {
	for i := range p.Tables {
		if p.Tables[i].Hold == "" {
			erasable += p.Tables[i].Readings
		} else {
			held += p.Tables[i].Readings
		}
	}
	return erasable, held
}

// Digest returns a text that identifies the target, the arrival, the counts of readings and the holds of
// a plan.
func (p *Plan) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%s/%s %d %d %d\n", p.Tenant, p.Stream, p.Device, p.Window.From.UnixNano(), p.Window.To.UnixNano(), p.Arrived.UnixMilli()) // a hash never fails
	for _, list := range [][]Count{p.Tables, p.Archives} {
		for _, c := range list {
			fmt.Fprintf(h, "%s %s %d %s\n", c.Table, c.Stream, c.Readings, c.Hold)
		}
		fmt.Fprintln(h)
	}
	return strconv.FormatInt(p.Arrived.UnixMilli(), 36) + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Plan counts the data of a target. It changes nothing. It fails with Unavailable while arrivals are ahead
// of the clock. In that case, an arrival does not show whether a reading arrived before the plan.
func (e *Eraser) Plan(ctx context.Context, t Target) (Plan, error) {
	now := e.opts.Now().UTC().Truncate(time.Millisecond)
	last := e.opts.LastArrival()
	if ahead := last.Sub(now); ahead > time.Millisecond {
		return Plan{}, &varve.Error{Failure: varve.Unavailable, RetryAfter: ahead, Message: fmt.Sprintf(
			"readings have arrivals up to %s, because the clock was set back or the server was ended hard: plan the erasure after that time", last.Format(time.RFC3339Nano))}
	}
	if last.After(now) {
		now = last
	}
	return e.planAt(ctx, t, now)
}

func (e *Eraser) planAt(ctx context.Context, t Target, arrived time.Time) (p Plan, err error) {
	if err := t.Validate(); err != nil {
		return p, err
	}
	p.Target, p.Arrived = t, arrived
	s, err := e.find(ctx, t)
	if err != nil {
		return p, err
	}
	for i := range s.tables {
		in := &s.tables[i]
		for j := range s.streams {
			st := &s.streams[j]
			n, err := e.count(ctx, store.Erasure{Table: in.Table, Series: t.series(st.Name), Window: t.Window, Arrived: arrived, Layout: e.layout(st, t.Device)})
			if errors.Is(err, store.ErrNoTable) {
				break // the table was dropped after it was listed
			}
			if err != nil {
				return p, err
			}
			if n > 0 {
				p.Tables = append(p.Tables, Count{Table: in.Name(), Stream: st.Name, Readings: n, Hold: in.Hold})
			}
		}
	}
	archives, err := e.findArchives(ctx, &s)
	if err != nil {
		return p, err
	}
	for i := range archives {
		p.Archives = append(p.Archives, archives[i].counts...)
	}
	f, err := e.findTraces(ctx, &s)
	if err != nil {
		return p, err
	}
	p.Traces = f.Traces
	for j := range s.streams {
		n, err := e.opts.Rollups.FindPartials(ctx, t.series(s.streams[j].Name), t.Window, arrived)
		if err != nil {
			return p, err
		}
		p.Rollups += n
	}
	return p, nil
}

// Begin begins the erasure of a plan, and returns its record. The digest identifies the plan. Begin
// fails with Conflict if the data has changed since the plan, or if the plan is too old.
func (e *Eraser) Begin(ctx context.Context, t Target, digest, by string) (Record, error) {
	ms, sum, _ := strings.Cut(digest, "-")
	arrived, err := strconv.ParseInt(ms, 36, 64)
	if err != nil || sum == "" {
		return Record{}, varve.InvalidParam("plan", "is not the digest of a plan: request a plan first")
	}
	now, at := e.opts.Now(), time.UnixMilli(arrived).UTC()
	switch {
	case at.After(now.Add(time.Millisecond)):
		return Record{}, varve.Errorf(varve.Conflict, "plan: was made at %s, after the present time: request a new plan", at.Format(time.RFC3339))
	case now.Sub(at) > maxPlanAge:
		return Record{}, varve.Errorf(varve.Conflict, "plan: is older than %s: request a new plan", maxPlanAge)
	}
	p, err := e.planAt(ctx, t, at)
	if err != nil {
		return Record{}, err
	}
	if is := p.Digest(); is != digest {
		return Record{}, varve.Errorf(varve.Conflict, "plan %s: the data has changed since: request a new plan", digest)
	}
	r, err := newRecord(&p, now.UTC(), by)
	if err != nil {
		return r, err
	}
	if err := e.put(ctx, &r); err != nil {
		return r, err
	}
	e.opts.Changed(r)
	return r, nil
}
