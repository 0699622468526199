package changes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// Source provides the readings of series by arrival.
type Source interface {
	ScanArrivals(ctx context.Context, q query.ArrivalQuery, scan func(*varve.Reading) bool) error
}

// ReaderOptions configure a reader. All fields except Alone are required.
type ReaderOptions struct {
	Items   store.Items
	Source  Source
	Settled Settled
	Tracker *Tracker
	Now     func() time.Time
	// Ended returns a channel that is closed at the end of the next write.
	Ended func() <-chan struct{}
	// LastArrival returns the last arrival that a stored reading of this process may have.
	LastArrival func() time.Time
	// Alone means that no other process writes to the store. Then the memory of the tracker shows
	// which series have no new readings.
	Alone bool
}

// Reader returns the readings of streams by arrival. It is safe for concurrent use.
type Reader struct {
	o ReaderOptions

	mu      sync.Mutex
	indexes map[Stream]cachedIndex // used only if other processes write to the store
}

// cachedIndex is the record about an index, and the time at which it was read.
type cachedIndex struct {
	index
	at, used time.Time
}

const (
	// indexLife is how long a reader remembers the record about an index.
	indexLife = time.Minute
	// refreshAfter is the age from which Refresh rereads a record, if a query has used the record
	// within refreshWithin.
	refreshAfter  = indexLife / 2
	refreshWithin = 10 * time.Minute
)

// NewReader returns a reader of the changes in a store.
func NewReader(o ReaderOptions) *Reader { return &Reader{o: o, indexes: map[Stream]cachedIndex{}} }

// Query selects the changes of a stream, or of one device.
type Query struct {
	Stream Stream
	Device string // if not empty, only readings of this device
	Since  Cursor // the zero cursor means the oldest complete time
	Limit  int    // maximum number of readings; 0 means no limit
	// Fits, if set, is called with each reading before it is returned. The rows end before the first one
	// that does not fit, and Rows.More returns true then.
	Fits func(*varve.Reading) bool
}

// Open determines the settled time, and returns the changes up to it. It reads no readings before
// Next.
//
// It fails with Gone if changes since the cursor were dropped or not recorded, and with Conflict if the
// stream has no index. If the cursor is a time in the future, it fails with Invalid.
func (r *Reader) Open(ctx context.Context, q Query) (*Rows, error) {
	if !r.o.Tracker.o.Indexed(q.Stream.Name) {
		return nil, varve.Errorf(varve.Conflict, "stream %s has no index by arrival: set streams.%s.arrivals to true; "+
			"it then has the readings that arrive from that time on", q.Stream.Name, q.Stream.Name)
	}
	// Read the settled time before check reads the record of the index. An index that is recorded in
	// between is complete from a time after end.
	end, epoch, err := r.o.Settled.Settled(ctx)
	if err != nil {
		return nil, err
	}
	rows := &Rows{r: r, q: q, at: q.Since, end: end.UnixMilli(), left: q.Limit}
	if q.Limit == 0 {
		rows.left = -1
	}
	if err := rows.check(ctx, epoch); err != nil {
		return nil, err
	}
	if rows.at.fromTime && rows.at.Since.After(end) {
		rows.at.Since = end // a running write may have an arrival before since; its readings are returned later
	}
	rows.at.Epoch, rows.at.fromTime = epoch.Number, false
	return rows, nil
}

// oldest returns the time since which the changes of a stream are complete. The zero time means that
// all changes are complete. If the index of the stream is not recorded yet, oldest records the argument
// "end" as the time at which it begins. If other processes write to the store, the index begins later,
// and oldest fails with Unavailable until then.
func (r *Reader) oldest(ctx context.Context, s Stream, end time.Time) (time.Time, error) {
	keep := r.o.Tracker.o.Retention(s.Name)
	ix, err := r.index(ctx, s)
	if err == nil && ix == nil && (r.o.Alone || !r.o.Tracker.isOpen(s)) {
		if err = r.o.Tracker.recordStream(ctx, s, end); err == nil {
			ix, err = readIndex(ctx, r.o.Items, s)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the index by arrival of stream %s: %w", s.Name, err)
	}
	if ix == nil {
		return time.Time{}, varve.Errorf(varve.Unavailable, "another process has turned off the index by arrival of stream %s: "+
			"use one value of streams.%s.arrivals in all processes, and restart them", s.Name, s.Name)
	}
	now := r.o.Now()
	if !r.o.Alone && ix.from.After(now) {
		return time.Time{}, varve.Errorf(varve.Unavailable, "the index by arrival of stream %s begins at %s: retry then", s.Name, ix.from.Format(time.RFC3339))
	}
	return ix.completeFrom(now, keep), nil
}

// index returns the record about the index of a stream, or nil if it is missing. If other processes
// write to the store, the record may be up to a minute old. That is harmless, because a change of
// the setting needs longer.
func (r *Reader) index(ctx context.Context, s Stream) (*index, error) {
	if r.o.Alone {
		return readIndex(ctx, r.o.Items, s)
	}
	now := r.o.Now()
	r.mu.Lock()
	cached, ok := r.indexes[s]
	if ok = ok && now.Sub(cached.at) < indexLife && !now.Before(cached.at); ok {
		cached.used = now
		r.indexes[s] = cached
	}
	r.mu.Unlock()
	if ok {
		return &cached.index, nil
	}
	return r.reread(ctx, s, now, now)
}

func (r *Reader) reread(ctx context.Context, s Stream, now, used time.Time) (*index, error) {
	ix, err := readIndex(ctx, r.o.Items, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.indexes, s); err == nil && ix != nil {
		r.indexes[s] = cachedIndex{*ix, now, used}
	}
	return ix, err
}

// Refresh rereads the records about the indexes that queries use, so that queries need not read them. The
// caller calls it with each [Cluster.Renew].
func (r *Reader) Refresh(ctx context.Context) error {
	now := r.o.Now()
	old := map[Stream]time.Time{}
	r.mu.Lock()
	for s, cached := range r.indexes {
		switch {
		case now.Sub(cached.used) > refreshWithin || now.Before(cached.at):
			delete(r.indexes, s)
		case now.Sub(cached.at) >= refreshAfter:
			old[s] = cached.used
		}
	}
	r.mu.Unlock()
	for s, used := range old {
		if _, err := r.reread(ctx, s, now, used); err != nil {
			return fmt.Errorf("read the index by arrival of stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// check fails if changes since the cursor are not known. It replaces the zero cursor by the time since
// which changes are complete.
func (r *Rows) check(ctx context.Context, epoch Epoch) error {
	oldest, err := r.r.oldest(ctx, r.q.Stream, time.UnixMilli(r.end).UTC())
	if err != nil {
		return err
	}
	since := r.q.Since
	switch {
	case since == (Cursor{}):
		r.at.Since = time.UnixMilli(max(oldest.UnixMilli(), 0)).UTC()
		if !oldest.IsZero() {
			r.at.Since = FromTime(oldest).Since
		}
		return nil
	case since.fromTime && since.Since.After(r.r.o.Now().Add(time.Millisecond)): // FromTime rounds up to a millisecond
		return varve.InvalidParam("since", "%s is in the future: use now or an earlier time", since.Since.Format(time.RFC3339Nano))
	case since.Since.Before(oldest):
		oldest = FromTime(oldest).Since
		return &varve.Error{Failure: varve.Gone, Param: "since", Message: fmt.Sprintf("changes before %s have expired or were not recorded: use since=%s, and read earlier arrivals by device",
			oldest.Format(time.RFC3339Nano), oldest.Format(time.RFC3339Nano))}
	}
	if limit, reset := epoch.repeatsFrom(since.Epoch); reset && !since.fromTime && (since.Since.After(limit) || since.Until.After(limit)) {
		return &varve.Error{Failure: varve.Gone, Param: "since", Message: fmt.Sprintf("the clock of the server was set back after this cursor: use since=%s, which may repeat readings",
			limit.Format(time.RFC3339Nano))}
	}
	return nil
}
