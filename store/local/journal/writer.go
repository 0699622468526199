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

// ErrClosed is the error of a journal that has been closed.
var ErrClosed = errors.New("journal is closed")

// retryEvery is how long a failed write waits before it is tried again.
const retryEvery = time.Second

// category tells the file system's statistics what the writes are for.
const category = vfs.DiskWriteCategory("varve-journal")

// Writer appends to a journal. Append must be called in the order in which
// frames are to be replayed; all methods may be called concurrently, but for
// Prepare, Rotate and Remove, which belong to one goroutine.
type Writer struct {
	fs    vfs.FS
	dir   string
	chain Chain

	mu       sync.Mutex
	work     sync.Cond // queue or closed changed
	segment  *segment  // where Append goes
	prepared *segment  // the one after it, if Prepare was called
	open     *group    // the group that gathers; nil: none yet
	queue    []*group  // groups to be written, in order; open is the last of them
	failed   error     // the last write failed and is being retried
	closed   bool
	spare    []byte
	stopped  chan struct{}
	closing  chan struct{}
}

// group is what is written and synced at once.
type group struct {
	segment *segment
	buf     []byte
	last    bool // of its segment
	commit  *Commit
}

// Open begins a new segment as Begin does, and makes it the journal as Start does.
func Open(fs vfs.FS, dir string, id meta.ID, number uint64) (*Writer, error) {
	w, err := Begin(fs, dir, id, number)
	if err != nil {
		return nil, err
	}
	return w, w.Start()
}

// Begin creates a segment with the given number in dir, which exists, and adds it to
// the chain. So the chain reaches beyond all that becomes durable elsewhere before
// Start. If the chain is damaged, it is left to Start.
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

// Start makes the segment of Begin the only one of the store's journal, and removes
// earlier ones. If it fails, the writer cannot be used.
func (w *Writer) Start() error {
	number := w.segment.number
	for range 2 { // both files, whatever became of them
		if err := w.advance(number, number); err != nil {
			return w.abandon(err)
		}
	}
	if err := removeSegments(w.fs, w.dir, number-1); err != nil {
		return w.abandon(err)
	}
	go w.run()
	return nil
}

// Abandon ends a writer that was not started.
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

// Ready returns why frames cannot be made durable at present, or nil.
func (w *Writer) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	return w.failed
}

// Append adds a frame to the open group. The payload is copied.
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

// add adds a frame to the open group, which it makes if there is none. The
// lock is held.
func (w *Writer) add(kind Kind, payload []byte) {
	s := w.segment
	if w.open == nil {
		w.open = &group{segment: s, buf: w.spare[:0], commit: newCommit()}
		w.spare = nil
		w.queue = append(w.queue, w.open)
		w.work.Signal()
	}
	f := Frame{Kind: kind, Payload: payload, synced: s.synced, length: s.durable}
	before := len(w.open.buf)
	w.open.buf = f.appendTo(w.open.buf, s.layout)
	s.appended += int64(len(w.open.buf) - before)
}

// Size returns how many bytes of frames the segment has to which Append goes.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.segment.appended
}

// Pending returns the commit of the last frame appended, or nil if everything
// is durable.
func (w *Writer) Pending() *Commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	return w.queue[len(w.queue)-1].commit
}

// Sync waits until everything that was appended is durable.
func (w *Writer) Sync(ctx context.Context) error {
	if c := w.Pending(); c != nil {
		return c.Wait(ctx)
	}
	return nil
}

// Prepare makes the file of the next segment and adds it to the chain, so that
// Rotate need not.
func (w *Writer) Prepare() error {
	w.mu.Lock()
	number, ready := w.segment.number+1, w.prepared != nil
	w.mu.Unlock()
	if ready {
		return nil
	}
	next, err := createSegment(w.fs, w.dir, w.chain.Store, number)
	if err != nil {
		return err
	}
	if err := w.advance(w.chain.First, number); err != nil {
		return errors.Join(err, next.file.Close())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared = next
	return nil
}

// Rotate ends the segment and makes later frames go to the one that Prepare
// made. It returns the number of the ended one.
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

// Remove takes the segments up to a number, which Rotate returned, out of the
// chain and deletes them.
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

// Close makes what was appended durable and ends the journal. If writing fails
// now, it is not tried again.
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
	if w.prepared != nil {
		err = errors.Join(err, w.prepared.file.Close())
	}
	for _, g := range w.queue {
		g.commit.end(ErrClosed, nil)
	}
	return err
}

// run writes groups until the journal is closed.
func (w *Writer) run() {
	defer close(w.stopped)
	for {
		g := w.next()
		if g == nil {
			return
		}
		for {
			err := g.segment.write(g.buf)
			w.written(g, err)
			if err == nil {
				break
			}
			if !w.pause() {
				return
			}
		}
	}
}

// next waits for a group and closes it to further frames; nil: the journal was
// closed and there is none left.
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

// gather lets those run who are about to append, as long as the group grows by
// it: a sync more costs more than they take. With nobody about, it costs
// nothing.
func (w *Writer) gather(g *group) {
	for range maxGather {
		n := len(g.buf)
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
		if len(g.buf) == n {
			return
		}
	}
}

const maxGather = 16

// written tells those who wait for the group. After a failure, later ones wait
// for the next try.
func (w *Writer) written(g *group, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if err != nil {
		failed := g.commit
		g.commit = newCommit()
		failed.end(err, g.commit)
		return
	}
	g.commit.end(nil, nil)
	s := g.segment
	s.synced += int64(len(g.buf))
	s.durable = s.length
	if g.last {
		// Everything in it is durable: closing can lose nothing.
		w.failed = s.file.Close()
	}
	w.queue = w.queue[1:]
	if cap(g.buf) <= maxSpare {
		w.spare = g.buf
	}
}

// maxSpare is how large a buffer is kept for the next group.
const maxSpare = 4 << 20

// pause waits before the next try; false: the journal is being closed.
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
