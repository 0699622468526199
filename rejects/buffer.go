package rejects

import (
	"context"
	"sync"
	"time"
)

const (
	// maxBuffer and maxStreamBuffer limit the memory of all buffered rejects, and of the rejects of
	// one stream, in bytes. So a flood in one stream leaves room for other streams.
	maxBuffer       = 32 << 20
	maxStreamBuffer = 12 << 20
	// writePause is the shortest time between two background writes. With writeAtOnce, it limits
	// the rate to 500 rejects a second. Reads of rejects may exceed this rate: see flush.
	writePause = 200 * time.Millisecond
	// retryPause is the time from a failed background write to the next try.
	retryPause = time.Second
	// closeWithin limits the time for the last writes in Close.
	closeWithin = 5 * time.Second
)

// buffer has the rejects that wait for the background writer.
type buffer struct {
	mu      sync.Mutex
	byID    map[string]*Reject
	order   []*Reject // in the order of their arrival
	bytes   int
	streams map[string]int // bytes of the waiting rejects of each stream, by the stream's partition key in the index
	wake    chan struct{}  // has an element if the buffer may have rejects
}

// add buffers a copy of a reject. It returns false if the buffer, or the share of the reject's
// stream, is full.
func (b *buffer) add(r *Reject) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byID == nil {
		b.byID, b.streams = map[string]*Reject{}, map[string]int{}
	}
	if old := b.byID[r.ID]; old != nil {
		old.merge(r)
		return true
	}
	pk, size := streamPK(r.Tenant, r.Stream), r.size()
	if b.bytes+size > maxBuffer || b.streams[pk]+size > maxStreamBuffer {
		return false
	}
	c := *r
	c.buffered = size
	b.byID[r.ID] = &c
	b.order = append(b.order, &c)
	b.bytes += size
	b.streams[pk] += size
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// next removes and returns the oldest rejects of the buffer, at most writeAtOnce.
func (b *buffer) next() (list []Reject) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.order), writeAtOnce)
	for _, r := range b.order[:n] {
		pk := streamPK(r.Tenant, r.Stream)
		b.bytes -= r.buffered
		if b.streams[pk] -= r.buffered; b.streams[pk] <= 0 {
			delete(b.streams, pk)
		}
		delete(b.byID, r.ID)
		list = append(list, *r)
	}
	if b.order = b.order[n:]; len(b.order) == 0 {
		b.order = nil
	}
	return list
}

// writeBehind writes the buffered rejects at a limited rate until the registry closes. The end of
// the context ends only a write in progress.
func (g *Registry) writeBehind(ctx context.Context) {
	defer close(g.stopped)
	for {
		select {
		case <-g.stop:
			return
		case <-g.buffer.wake:
		}
		for pause := time.Duration(0); ; {
			timer := time.NewTimer(pause)
			select {
			case <-g.stop:
				timer.Stop()
				return
			case <-timer.C:
			}
			n, err := g.writeNext(ctx)
			if pause = writePause; err != nil {
				pause = retryPause
				g.opts.Failed("store rejects", err)
			} else if n == 0 {
				break
			}
		}
	}
}

// writeNext writes the oldest rejects of the buffer, and returns their number. If the write fails,
// the rejects return to the buffer, as far as the buffer has room. Rejects without room are counted
// as dropped.
func (g *Registry) writeNext(ctx context.Context) (n int, err error) {
	// Take the lock before rejects leave the buffer. Otherwise a concurrent flush would find an empty
	// buffer, and would not wait until these rejects are stored.
	g.writing.Lock()
	defer g.writing.Unlock()
	list := g.buffer.next()
	if len(list) == 0 {
		return 0, nil
	}
	if err = g.writeHeld(ctx, list, make([]bool, len(list))); err == nil {
		return len(list), nil
	}
	for i := range list {
		if !g.buffer.add(&list[i]) {
			g.countDropped(BufferFull, list[i].Times)
		}
	}
	return 0, err
}

// flushParts is the maximum number of writes for which a read of rejects waits.
const flushParts = 10

// flush writes buffered rejects, so that a list includes the latest ones. In a flood, it writes
// only some of them. If the store fails, the list has only the rejects stored before.
func (g *Registry) flush(ctx context.Context) {
	for range flushParts {
		// Ignore the error: the background writer retries a failed write, and reports it.
		if n, err := g.writeNext(ctx); n == 0 || err != nil {
			return
		}
	}
}

// Close stops the background writer and writes the buffered rejects. If the store fails, or after
// five seconds, the rest is dropped and counted.
func (g *Registry) Close() {
	g.closing.Do(func() {
		ctx, cancel := context.WithTimeoutCause(context.Background(), closeWithin, errStopped)
		defer cancel()
		// Let a write in progress finish. A write that is cut off may still be durable, and the next
		// try would then count its rejects twice.
		defer g.abort()
		defer context.AfterFunc(ctx, g.abort)()
		close(g.stop)
		<-g.stopped
		for {
			n, err := g.writeNext(ctx)
			if err != nil {
				g.opts.Failed("store rejects", err)
				g.dropAll()
				return
			}
			if n == 0 {
				return
			}
		}
	})
}

func (g *Registry) dropAll() {
	for list := g.buffer.next(); len(list) > 0; list = g.buffer.next() {
		for i := range list {
			g.countDropped(StoreFailed, list[i].Times)
		}
	}
}
