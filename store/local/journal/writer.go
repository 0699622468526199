package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store/local/meta"
)

// ErrClosed means that the journal has been closed.
var ErrClosed = errors.New("journal is closed")

// retryEvery is the delay before a failed write is retried.
const retryEvery = time.Second

// category names the writes of the journal in the statistics of the file system.
const category = vfs.DiskWriteCategory("varve-journal")

// Writer appends to a journal. The order of Append calls is the order of the replay. All methods
// are safe for concurrent use, except Prepare, Rotate, Remove and CopyTo. Only one goroutine at a
// time may call these.
type Writer struct {
	fs    vfs.FS
	dir   string
	chain Chain

	mu       sync.Mutex
	work     sync.Cond // signals that "queue" or "closed" has changed
	segment  *segment  // receives new frames
	created  *segment  // the next segment while the chain lacks it; only Prepare and Close use it
	prepared *segment  // the next segment, if Prepare has added it to the chain; otherwise nil
	open     *group    // the group that collects frames; may be nil
	queue    []*group  // groups to be written, in order; the last one may be the open group
	failed   error     // error of the last write, which is being retried
	closed   bool
	spares   [][]byte      // buffers of written groups, for later groups; at most maxSpares
	stopped  chan struct{} // closed when writeLoop returns
	closing  chan struct{} // closed by Close

	syncs syncMeter
}

// Open calls Begin for a new segment, and then Start.
func Open(fs vfs.FS, dir string, id meta.ID, number uint64) (*Writer, error) {
	w, err := Begin(fs, dir, id, number)
	if err != nil {
		return nil, err
	}
	return w, w.Start()
}

// Begin creates a segment in an existing folder, and makes it the end of the chain. Only then may
// the caller write replayed data to Pebble. So the chain includes every segment whose data Pebble
// may have.
//
// Begin does not change a damaged chain. Start replaces the damaged chain.
func Begin(fs vfs.FS, dir string, id meta.ID, number uint64) (*Writer, error) {
	chain, _, _, err := ReadChain(fs, dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{fs: fs, dir: dir, stopped: make(chan struct{}), closing: make(chan struct{})}
	w.work.L = &w.mu
	w.chain = Chain{Store: id, Generation: chain.Generation, First: number, Last: number}
	if w.segment, err = createSegment(fs, dir, id, number); err != nil {
		return nil, err
	}
	if chain.First > 0 && chain.Store == id {
		if err = w.advance(chain.First, number); err != nil {
			return nil, w.abandon(err)
		}
	}
	return w, nil
}

// Start makes the segment that Begin created the only one of the journal, and removes earlier ones. If
// Start fails, the writer cannot be used.
func (w *Writer) Start() error {
	number := w.segment.number
	for range 2 { // rewrites both files of the chain
		if err := w.advance(number, number); err != nil {
			return w.abandon(err)
		}
	}
	if err := removeSegments(w.fs, w.dir, number-1); err != nil {
		return w.abandon(err)
	}
	go w.writeLoop()
	return nil
}

// Abandon closes a writer that was not started.
func (w *Writer) Abandon() error { return w.abandon(nil) }

func (w *Writer) abandon(err error) error { return errors.Join(err, w.segment.file.Close()) }

// advance writes the next generation of the chain.
func (w *Writer) advance(first, last uint64) error {
	next := w.chain
	next.Generation++
	next.First, next.Last = first, last
	if err := next.write(w.fs, w.dir); err != nil {
		return err
	}
	w.chain = next
	return nil
}

// Ready returns ErrClosed, the error of the last write, or nil if frames can become durable.
func (w *Writer) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	return w.failed
}

// Append adds a frame to the open group. It copies the payload.
func (w *Writer) Append(kind Kind, payload []byte) *Commit {
	if len(payload) > MaxPayload {
		return ended(fmt.Errorf("a journal frame of %d bytes is larger than %d", len(payload), MaxPayload))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ended(ErrClosed)
	}
	w.add(kind, payload)
	return w.open.commit
}

// add adds a frame to the open group, and creates the group if needed. The caller has locked mu.
func (w *Writer) add(kind Kind, payload []byte) {
	s := w.segment
	if w.open == nil {
		w.open = &group{segment: s, buf: w.takeSpare(), commit: newCommit()}
		w.queue = append(w.queue, w.open)
		w.work.Signal()
	}
	f := Frame{Kind: kind, Payload: payload, synced: s.synced, length: s.durable}
	before := len(w.open.buf)
	w.open.buf = f.appendTo(w.open.buf, s.encoding)
	s.appended += int64(len(w.open.buf) - before)
}

// Size returns the number of bytes in frames of the current segment.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.segment.appended
}

// Pending returns the commit of the last appended frame, or nil if everything is durable.
func (w *Writer) Pending() *Commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	return w.queue[len(w.queue)-1].commit
}

// Sync waits until all appended frames are durable. It fails if a write fails meanwhile.
func (w *Writer) Sync(ctx context.Context) error {
	if c := w.Pending(); c != nil {
		return c.Wait(ctx)
	}
	return nil
}

// Prepare creates the file of the next segment and adds it to the chain, so that Rotate is fast.
func (w *Writer) Prepare() (err error) {
	w.mu.Lock()
	number, ready := w.segment.number+1, w.prepared != nil
	w.mu.Unlock()
	if ready {
		return nil
	}
	if w.created == nil {
		if w.created, err = createSegment(w.fs, w.dir, w.chain.Store, number); err != nil {
			return err
		}
	}
	// A failed write of the chain may be durable. So a later call only writes the chain.
	if err := w.advance(w.chain.First, number); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared, w.created = w.created, nil
	return nil
}

// Rotate ends the current segment, and directs later frames to the segment that Prepare created. It
// panics if Prepare was not called before. It returns the number of the ended segment.
func (w *Writer) Rotate() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.prepared == nil {
		panic("journal: Rotate without Prepare")
	}
	w.add(end, nil)
	w.open.last = true
	ended := w.segment.number
	w.segment, w.prepared, w.open = w.prepared, nil, nil
	return ended
}

// Remove deletes all segments up to the number upTo, which Rotate returned. Before that, it removes
// them from the chain.
func (w *Writer) Remove(upTo uint64) error {
	if upTo >= w.chain.First {
		if err := w.advance(upTo+1, w.chain.Last); err != nil {
			return err
		}
	}
	return removeSegments(w.fs, w.dir, upTo)
}

func removeSegments(fs vfs.FS, dir string, upTo uint64) error {
	numbers, err := segments(fs, dir)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n > upTo {
			break
		}
		if err := fs.Remove(fs.PathJoin(dir, fileName(n))); err != nil {
			return fmt.Errorf("remove journal segment: %w", err)
		}
	}
	return nil
}

// Close makes all appended frames durable and closes the journal. It does not retry a failed
// write.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	close(w.closing)
	w.work.Signal()
	w.mu.Unlock()
	<-w.stopped
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.failed, w.segment.file.Close())
	for _, next := range []*segment{w.created, w.prepared} {
		if next != nil {
			err = errors.Join(err, next.file.Close())
		}
	}
	for _, g := range w.queue {
		g.commit.end(ErrClosed, nil)
	}
	return err
}

func (w *Writer) writeLoop() {
	defer close(w.stopped)
	for {
		g := w.next()
		if g == nil {
			return
		}
		for {
			begin := time.Now()
			err := g.segment.write(g.buf)
			took := time.Since(begin)
			w.written(g, err)
			if err == nil {
				w.syncs.observe(took)
				break
			}
			if !w.pause() {
				return
			}
		}
	}
}

// next waits for a group and closes it to further frames. It returns nil if the journal is
// closed and no group is left.
func (w *Writer) next() *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 {
		if w.closed {
			return nil
		}
		w.work.Wait()
	}
	g := w.queue[0]
	if g == w.open {
		w.gather(g)
	}
	if g == w.open {
		w.open = nil
	}
	return g
}

// gather yields to goroutines that are about to append, as long as the group grows, because a
// further sync would cost more. Without such goroutines, a yield costs little. If another goroutine
// computes for long, a yield may cost more than a sync. So gather ends after gatherTime.
func (w *Writer) gather(g *group) {
	begin := time.Now()
	for range maxGather {
		if time.Since(begin) > gatherTime {
			return
		}
		n := len(g.buf)
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
		if len(g.buf) == n {
			return
		}
	}
}

// The largest number of yields in gather, and the time after which it ends.
const (
	maxGather  = 16
	gatherTime = 200 * time.Microsecond
)

// written ends the commit of a group. A failure also ends the commits of the groups after it, because they
// are written only after this group. Later callers wait for the next attempt.
func (w *Writer) written(g *group, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if err != nil {
		for _, g := range w.queue {
			failed := g.commit
			g.commit = newCommit()
			failed.end(err, g.commit)
		}
		return
	}
	g.commit.end(nil, nil)
	s := g.segment
	s.synced += int64(len(g.buf))
	s.durable = s.length
	if g.last {
		_ = s.file.Close() // the whole segment is durable, so a failed close loses nothing
	}
	w.queue = w.queue[1:]
	if cap(g.buf) <= maxSpareBytes && len(w.spares) < maxSpares {
		w.spares = append(w.spares, g.buf)
	}
}

// pause waits before the next attempt. It returns false if the journal is being closed.
func (w *Writer) pause() bool {
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.closing:
		return false
	}
}
