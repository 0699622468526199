package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrClosed is the error of a journal that has been closed.
var ErrClosed = errors.New("journal is closed")

// retryEvery is how long a failed write waits before it is tried again.
const retryEvery = time.Second

// category tells the file system's statistics what the writes are for.
const category = vfs.DiskWriteCategory("varve-journal")

// Writer appends to a journal. Append must be called in the order in which
// frames are to be replayed; all methods may be called concurrently.
type Writer struct {
	fs  vfs.FS
	dir string

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

// segment is one file. Only the syncing goroutine writes to it.
type segment struct {
	number uint64
	file   vfs.File
	synced int64 // bytes that are durable; guarded by Writer.mu
	filled int64 // bytes that the file has, zeros among them
	last   bool  // closed once its last group is written
}

// group is what is written and synced at once.
type group struct {
	segment *segment
	buf     []byte
	commit  *Commit
}

// Commit is the durability of a frame, to be waited for.
type Commit struct {
	done chan struct{}
	err  error
}

func newCommit() *Commit { return &Commit{done: make(chan struct{})} }

func (c *Commit) end(err error) {
	c.err = err
	close(c.done)
}

// Wait returns when the frame is durable, or why it is not: a failure to
// write, or the end of the context, after which it may still become durable.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Open begins a new segment with the given number in dir, which exists.
func Open(fs vfs.FS, dir string, number uint64) (*Writer, error) {
	w := &Writer{fs: fs, dir: dir, stopped: make(chan struct{}), closing: make(chan struct{})}
	w.work.L = &w.mu
	seg, err := w.create(number)
	if err != nil {
		return nil, err
	}
	w.segment = seg
	go w.run()
	return w, nil
}

// create makes a segment's file, durably.
func (w *Writer) create(number uint64) (*segment, error) {
	name := w.fs.PathJoin(w.dir, fileName(number))
	f, err := w.fs.Create(name, category)
	if err != nil {
		return nil, fmt.Errorf("create journal segment: %w", err)
	}
	head := appendHeader(nil, number)
	if _, err = f.WriteAt(head, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(w.fs, w.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create journal segment %s: %w", name, err), f.Close())
	}
	return &segment{number: number, file: f, synced: headerBytes}, nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
func (w *Writer) Append(payload []byte) *Commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		c := newCommit()
		c.end(ErrClosed)
		return c
	}
	if w.open == nil {
		w.open = &group{segment: w.segment, buf: w.spare[:0], commit: newCommit()}
		w.spare = nil
		w.queue = append(w.queue, w.open)
		w.work.Signal()
	}
	w.open.buf = appendFrame(w.open.buf, w.segment.number, w.segment.synced, payload)
	return w.open.commit
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

// Prepare makes the file of the next segment, so that Rotate need not.
func (w *Writer) Prepare() error {
	w.mu.Lock()
	number, ready := w.segment.number+1, w.prepared != nil
	w.mu.Unlock()
	if ready {
		return nil
	}
	next, err := w.create(number)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared = next
	return nil
}

// Rotate makes later frames go to the segment that Prepare made, and returns
// the number of the one before it. Prepare and Rotate are called in turn, by
// one goroutine.
func (w *Writer) Rotate() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.prepared == nil {
		panic("journal: Rotate without Prepare")
	}
	old := w.segment
	w.segment, w.prepared, w.open = w.prepared, nil, nil
	// An empty group closes the old file, in its turn.
	old.last = true
	w.queue = append(w.queue, &group{segment: old, commit: newCommit()})
	w.work.Signal()
	return old.number
}

// Remove deletes the segments up to a number, which must be one that Rotate
// returned.
func (w *Writer) Remove(upTo uint64) error { return Remove(w.fs, w.dir, upTo) }

// Remove deletes the segments in dir up to a number.
func Remove(fs vfs.FS, dir string, upTo uint64) error {
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
			err := g.write()
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

// write writes a group behind what is durable, whatever an earlier try left
// there, and syncs it.
func (g *group) write() error {
	if len(g.buf) == 0 {
		return nil
	}
	seg := g.segment
	end := seg.synced + int64(len(g.buf))
	if _, err := seg.file.WriteAt(g.buf, seg.synced); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := seg.fill(end, len(g.buf)); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := seg.file.SyncData(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}

// fill writes zeros behind what was written, once in a while: to sync what
// overwrites them costs half of what it costs to sync a file that grows. Large
// groups grow the file: what they cost is the writing.
func (s *segment) fill(end int64, group int) error {
	if end <= s.filled {
		return nil
	}
	s.filled = end
	if group > fillBytes/8 {
		return nil
	}
	_, err := s.file.WriteAt(zeros[:], end)
	s.filled = end + fillBytes
	return err
}

// fillBytes is how many zeros are written at a time.
const fillBytes = 256 << 10

var zeros [fillBytes]byte

// written tells those who wait for the group. After a failure, later ones wait
// for the next try.
func (w *Writer) written(g *group, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	g.commit.end(err)
	if err != nil {
		g.commit = newCommit()
		return
	}
	g.segment.synced += int64(len(g.buf))
	if len(g.buf) == 0 && g.segment.last {
		// Everything in it is durable: closing can lose nothing.
		w.failed = g.segment.file.Close()
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
