package outbox

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/filelock"
)

// Policy decides about records that do not fit into the outbox.
type Policy int

// Policies for records that do not fit into the outbox.
const (
	// DropOldest removes the oldest segment, even if its records are not confirmed.
	DropOldest Policy = iota
	// RefuseNewest makes Append fail with ErrFull.
	RefuseNewest
)

// Order is the order in which Next returns segments.
type Order int

// Orders of segments. Within a segment, the oldest records come first. With NewestFirst, segments are shorter
// while records wait.
const (
	OldestFirst Order = iota
	NewestFirst
)

// Errors of an outbox that is full or closed.
var (
	ErrFull   = &varve.Error{Failure: varve.Busy, Message: "the outbox is full: wait until the server confirms readings, or raise outbox.max_bytes"}
	ErrClosed = &varve.Error{Failure: varve.Unavailable, Message: "the outbox is closed: retry after the restart"}
)

// Options configure an outbox. Dir and MaxBytes are required.
type Options struct {
	Dir string
	// Disk is the file system. If nil, the outbox uses the file system of the operating system.
	Disk Disk
	// MaxBytes limits the total size of the segment files. It is at least MinBytes. A part of it, at most about
	// one segment, is reserved for copies of postponed records.
	MaxBytes int64
	Full     Policy
	Order    Order
	// Keep is how long confirmed records stay for a comparison with the server: see KeptSegment. 0 means that
	// Confirm removes them.
	Keep time.Duration
	// SegmentBytes is the size at which a segment ends. If 0, it is derived from MaxBytes.
	SegmentBytes int64
	Events       Events
}

// MinBytes is the minimum of Options.MaxBytes.
const MinBytes = 8 * smallestSegment

const (
	smallestSegment = 128 << 10
	largestSegment  = 4 << 20
	// With NewestFirst, a segment ends once it is older than backlogAge and its unconfirmed records take
	// backlogBytes, or a larger outbox divided by backlogSegments.
	backlogAge      = time.Second
	backlogBytes    = 32 << 10
	backlogSegments = 4096
	// groupBytes limits the memory of a group with several callers.
	groupBytes = 128 << 10
)

// Events has callbacks. A nil callback is not called. A callback must not call the outbox.
type Events struct {
	// Dropped is called after unconfirmed readings were dropped, because the outbox was full.
	Dropped func(readings, bytes int64)
	// Damaged is called after Open or Next skipped invalid bytes of a file.
	Damaged func(file string, from, to int64)
	// Torn is called for invalid bytes that a power cut may have left at the end of a file.
	// Usually, their write was not acknowledged. But damage of the last write looks the same.
	Torn func(file string, at, bytes int64)
	// Failed is called after a failure that lost nothing, such as a file that could not be removed.
	Failed func(err error)
}

// Stats describes an outbox.
type Stats struct {
	Bytes    int64 // size of all segment files
	Segments int
	Readings int64 // number of readings that are not confirmed
	// Postponed is the number of postponed readings. Readings includes them.
	Postponed int64
	// KeptBytes and KeptReadings describe the kept segments. Bytes includes KeptBytes.
	KeptBytes, KeptReadings int64
	// Uncompared is the number of kept readings that were removed without a comparison since Open.
	Uncompared int64
	// Dropped is the number of unconfirmed readings that were dropped since Open.
	Dropped int64
	// DamagedBytes is the number of invalid bytes that were skipped since Open.
	DamagedBytes int64
	Failed       error // error of the last write, or nil
}

// Outbox is a folder of segments. It is safe for concurrent use, but only one goroutine may call
// Next and Confirm.
type Outbox struct {
	opts   Options
	lock   func() error
	wake   chan struct{} // has an element after records became durable
	closed chan struct{}

	mu       sync.Mutex
	work     sync.Cond // signals changes of open, overdue or closing
	segments []*segment
	open     *group
	spare    []byte // memory of a written group, which the next one reuses
	overdue  bool   // whether the active segment must end
	writing  int64  // bytes of the group that is being written
	closing  bool
	stats    Stats
	saved    time.Time // when the file CURSOR was last written
	stopped  chan struct{}
	cursor   cursorFiles
	// movesAfter is the earliest time of the next Postponed.Move. Only the goroutine that calls Next uses it.
	movesAfter time.Time
	buf        []byte // memory of the batch that was returned last, which the next call reuses
}

// segment is one file. Its fields are guarded by Outbox.mu.
type segment struct {
	name

	size      int64 // durable bytes, or the end of the last valid frame after a restart
	disk      int64 // size of the file in bytes, including bytes that are not durable
	durable   int64 // bytes that are certainly durable; invalid frames in them are damage
	readings  int64
	confirmed progress
	postponed []postponedRange // in the part before confirmed.offset
	copies    int64            // bytes of copies of moved records; 0 after a restart
	ended     bool             // no further frames are appended
	// kept is the time from which the segment is kept, or zero. Only its monotonic part counts.
	kept     time.Time
	compared bool // whether a comparison of the kept segment has finished
}

// left returns the number of unconfirmed readings.
func (s *segment) left() int64 {
	waiting := s.waiting()
	if s.confirmed.offset >= s.size {
		return waiting // other readings that are missing in confirmed.readings were damaged
	}
	return max(waiting, s.readings-s.confirmed.readings)
}

// group is a set of frames that are written and synced together.
type group struct {
	buf      []byte
	readings int64
	copyOf   *segment // if set, all records are copies of postponed ones in the segment
	done     chan struct{}
	err      error
}

// Open opens the outbox in a folder. A missing folder is created.
func Open(o Options) (*Outbox, error) {
	if o.Disk == nil {
		o.Disk = system{}
	}
	if o.MaxBytes < MinBytes {
		return nil, fmt.Errorf("the bound of the outbox is %d bytes: use at least %d", o.MaxBytes, int64(MinBytes))
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = min(max(o.MaxBytes/64, smallestSegment), largestSegment)
	}
	if o.Events.Dropped == nil {
		o.Events.Dropped = func(int64, int64) {}
	}
	if o.Events.Damaged == nil {
		o.Events.Damaged = func(string, int64, int64) {}
	}
	if o.Events.Torn == nil {
		o.Events.Torn = func(string, int64, int64) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(error) {}
	}
	b := &Outbox{opts: o, cursor: cursorFiles{disk: o.Disk, dir: o.Dir}, wake: make(chan struct{}, 1), closed: make(chan struct{}), stopped: make(chan struct{})}
	b.work.L = &b.mu
	if err := o.Disk.MakeFolder(o.Dir); err != nil {
		return nil, fmt.Errorf("create outbox: %w", err)
	}
	var err error
	if _, ok := o.Disk.(system); ok {
		b.lock, err = filelock.Lock(path.Join(o.Dir, "LOCK"))
		if errors.Is(err, filelock.ErrLocked) {
			err = errors.New("another agent uses it: stop that one, or set another outbox.dir")
		}
		if err != nil {
			return nil, fmt.Errorf("lock outbox %s: %w", o.Dir, err)
		}
	}
	w := &writer{Outbox: b}
	if w.last, err = b.load(); err != nil {
		return nil, errors.Join(err, b.unlock())
	}
	b.signal()
	go w.loop()
	return b, nil
}

func (b *Outbox) unlock() error {
	if b.lock == nil {
		return nil
	}
	return b.lock()
}

// signal wakes Next.
func (b *Outbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Append adds records, and returns after they are durable. If it fails with ErrFull, it has added
// none. After any other error, some or all of the records may be durable.
func (b *Outbox) Append(ctx context.Context, records []Record) error {
	return b.Postponed().appendRecords(ctx, records, nil)
}

// appendRecords is like Append. If the segment copyOf is set, the records are copies of records in it.
func (b Postponed) appendRecords(ctx context.Context, records []Record, copyOf *segment) error {
	size, readings := int64(0), int64(0)
	for i := range records {
		if len(records[i].Lines) > MaxRecord {
			return varve.Errorf(varve.Invalid, "a record of %d bytes is larger than %d", len(records[i].Lines), MaxRecord)
		}
		size += frameBytes + 2*binary.MaxVarintLen64 + int64(len(records[i].Stream)+len(records[i].Lines))
		readings += int64(records[i].Readings)
	}
	if len(records) == 0 {
		return nil
	}
	g, err := b.add(records, size, readings, copyOf)
	if err != nil {
		return err
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// add adds records to the open group. Copies get a group of their own.
func (b *Outbox) add(records []Record, size, readings int64, copyOf *segment) (*group, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.closing:
			return nil, ErrClosed
		case copyOf == nil && b.opts.Full == RefuseNewest && b.used()-b.Kept().bytes()+size+segmentOverhead > b.opts.MaxBytes-b.Postponed().freeReserve():
			return nil, ErrFull
		case copyOf == nil && size > b.opts.MaxBytes/2:
			return nil, varve.Errorf(varve.Invalid, "the readings have %d bytes, more than half of the outbox: send them in parts", size)
		}
		if b.open == nil || b.open.copyOf == nil && copyOf == nil && int64(len(b.open.buf))+size <= groupBytes {
			break
		}
		b.work.Wait() // then check once more, because other callers have added records meanwhile
	}
	if b.open == nil {
		b.open = &group{buf: b.spare, copyOf: copyOf, done: make(chan struct{})}
		b.spare = nil
	}
	for i := range records {
		b.open.buf = appendFrame(b.open.buf, &records[i])
	}
	if b.open.readings += readings; copyOf != nil {
		copyOf.copies += int64(len(b.open.buf))
	}
	b.work.Broadcast()
	return b.open, nil
}

// used returns the size of the outbox in bytes, including records that are not written yet.
func (b *Outbox) used() int64 {
	total := b.stats.Bytes + b.writing
	if b.open != nil {
		total += int64(len(b.open.buf))
	}
	return total
}

// Stats returns the state of the outbox.
func (b *Outbox) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Segments = len(b.segments)
	for _, seg := range b.segments {
		s.Readings += seg.left()
		s.Postponed += seg.waiting()
		if !seg.kept.IsZero() {
			s.KeptBytes += seg.disk
			s.KeptReadings += seg.toCompare()
		}
	}
	return s
}

// MaxBytes returns the bound of the outbox.
func (b *Outbox) MaxBytes() int64 { return b.opts.MaxBytes }

// Close writes the records that Append has accepted, saves the cursor, and closes the files.
func (b *Outbox) Close() error {
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return nil
	}
	b.closing = true
	close(b.closed)
	b.work.Broadcast()
	b.mu.Unlock()
	<-b.stopped
	return errors.Join(b.SaveCursor(), b.unlock())
}

func (b *Outbox) path(number uint64) string { return path.Join(b.opts.Dir, fileName(number)) }

// forget removes a segment from the list. The caller holds b.mu, and removes the file afterward.
func (b *Outbox) forget(s *segment) {
	b.segments = slices.DeleteFunc(b.segments, func(other *segment) bool { return other == s })
	b.stats.Bytes -= s.disk
}

// removeFile removes the file of a forgotten segment. If that fails, its records are returned once
// more after a restart.
func (b *Outbox) removeFile(s *segment) {
	if err := b.opts.Disk.Remove(b.path(s.number)); err != nil {
		b.opts.Events.Failed(fmt.Errorf("remove segment: %w", err))
	}
}

func newTag() uint64 {
	var tag [8]byte
	_, _ = rand.Read(tag[:]) // crypto/rand ends the program if it fails
	return binary.LittleEndian.Uint64(tag[:])
}
