package outbox

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/varvedb/varve"
)

// writer writes the groups of an outbox. Only its goroutine uses it.
type writer struct {
	*Outbox

	active *segment  // receives new frames; if nil, the next group begins a segment
	file   File      // file of active
	begun  time.Time // when active was created
	last   uint64    // highest number that a segment has had
	timer  *time.Timer
}

// loop writes one group after another, until Close. Then it ends the active segment.
func (w *writer) loop() {
	defer func() {
		if w.active != nil {
			w.endSegment()
		}
		close(w.stopped)
	}()
	for {
		w.mu.Lock()
		for w.open == nil && !w.overdue && !w.closing {
			w.work.Wait()
		}
		if w.overdue {
			w.overdue = false
			w.mu.Unlock()
			if w.active != nil {
				w.endSegment()
			}
			continue
		}
		g := w.open
		if w.open = nil; g == nil {
			w.mu.Unlock()
			return
		}
		w.writing = int64(len(g.buf))
		w.work.Broadcast()
		w.mu.Unlock()
		g.err = w.writeGroup(g)
		w.mu.Lock()
		if w.writing = 0; g.copyOf == nil {
			w.stats.Failed = g.err
		} else if g.err != nil {
			g.copyOf.copies -= int64(len(g.buf))
		}
		w.reuseBuffer(g)
		w.mu.Unlock()
		if g.err == nil {
			w.signal()
		}
		close(g.done)
	}
}

// reuseBuffer saves the memory of a written group for the next one, unless it is unusually large. The caller holds
// w.mu.
func (w *writer) reuseBuffer(g *group) {
	if cap(g.buf) <= 2*groupBytes {
		w.spare = g.buf[:0]
	}
	g.buf = nil
}

// writeGroup makes a group durable. If the outbox or the disk is full, it removes kept segments first. Then
// it drops the oldest segments, unless the policy forbids it or the group has copies.
func (w *writer) writeGroup(g *group) error {
	if !w.makeRoom(g) && g.copyOf != nil {
		return ErrFull
	}
	for {
		err := w.tryWrite(g)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.ENOSPC) && w.removeOldest(g):
		case errors.Is(err, syscall.ENOSPC):
			return unavailable("the disk of the outbox is full: free space", err)
		default:
			return unavailable("the outbox cannot be written: check its disk", err)
		}
	}
}

func unavailable(message string, err error) error {
	return &varve.Error{Failure: varve.Unavailable, Message: message + ": " + err.Error(), Err: err}
}

// makeRoom removes the oldest segments until a group fits. It returns false if the group does not fit.
func (w *writer) makeRoom(g *group) bool {
	for {
		w.mu.Lock()
		limit := w.opts.MaxBytes
		if g.copyOf == nil {
			limit -= w.Postponed().freeReserve()
		}
		fits := w.stats.Bytes+int64(len(g.buf))+segmentOverhead <= limit
		w.mu.Unlock()
		if fits || !w.removeOldest(g) {
			return fits
		}
	}
}

// removeOldest removes the oldest kept segment. If none is kept, it drops the oldest segment, unless the
// policy forbids it or the group has copies. It returns false if it removed none.
func (w *writer) removeOldest(g *group) bool {
	return w.Kept().evictOldest() || g.copyOf == nil && w.opts.Full == DropOldest && w.dropOldest()
}

// dropOldest removes the oldest segment, and counts its unconfirmed readings. It returns false if the
// outbox has none.
func (w *writer) dropOldest() bool {
	w.mu.Lock()
	if len(w.segments) == 0 {
		w.mu.Unlock()
		return false
	}
	s := w.segments[0]
	w.forget(s)
	lost := s.left()
	w.stats.Dropped += lost
	w.mu.Unlock()
	if s == w.active {
		w.closeActive()
	}
	w.removeFile(s)
	if lost > 0 {
		w.opts.Events.Dropped(lost, s.disk)
	}
	return true
}

// tryWrite writes and syncs a group at the end of the active segment.
func (w *writer) tryWrite(g *group) error {
	if s := w.active; s != nil && s.size > headerBytes && (s.size+int64(len(g.buf)) > w.opts.SegmentBytes || w.isBacklog(s)) {
		w.endSegment()
	}
	if w.active == nil {
		if err := w.beginSegment(); err != nil {
			return err
		}
	}
	s := w.active
	s.completeFrames(g.buf, s.size)
	_, err := w.file.WriteAt(g.buf, s.size)
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		w.abandonSegment()
		return fmt.Errorf("write %s: %w", fileName(s.number), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.size += int64(len(g.buf))
	s.durable = s.size
	s.disk += int64(len(g.buf))
	s.readings += g.readings
	w.stats.Bytes += int64(len(g.buf))
	return nil
}

// isBacklog reports whether the active segment must end because of NewestFirst: its records have waited for some
// time. Within a segment the oldest records come first, so later records get a segment of their own.
func (w *writer) isBacklog(s *segment) bool {
	if w.opts.Order != NewestFirst || time.Since(w.begun) < backlogAge {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.size-s.confirmed.offset >= max(backlogBytes, w.opts.MaxBytes/backlogSegments)
}

// beginSegment creates the next segment, durably.
func (w *writer) beginSegment() error {
	s := &segment{name: name{w.last + 1, newTag()}, size: headerBytes, disk: headerBytes, confirmed: progress{offset: headerBytes}}
	f, err := w.opts.Disk.Create(w.path(s.number))
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	w.last++
	_, err = f.WriteAt(s.header(), 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = w.opts.Disk.SyncFolder(w.opts.Dir)
	}
	if err != nil {
		err = fmt.Errorf("create segment %s: %w", fileName(s.number), errors.Join(err, f.Close()))
		w.removeFile(s)
		return err
	}
	w.active, w.file, w.begun = s, f, time.Now()
	if w.opts.Keep > 0 {
		w.timer = time.AfterFunc(w.Kept().Interval(), w.endLater)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.segments = append(w.segments, s)
	w.stats.Bytes += s.disk
	return nil
}

// endLater makes the writer end the active segment. Otherwise, if few readings arrive, they would never
// be compared with the server.
func (w *writer) endLater() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.overdue = true
	w.work.Broadcast()
}

// endSegment writes the last frame of the active segment. The frame is not synced: without it, the
// segment is scanned at the next start.
func (w *writer) endSegment() {
	s := w.active
	if _, err := w.file.WriteAt(s.endFrame(s.size, s.readings), s.size); err != nil {
		w.opts.Events.Failed(fmt.Errorf("end segment: %w", err))
	}
	w.mu.Lock()
	s.disk += endBytes
	w.stats.Bytes += endBytes
	w.mu.Unlock()
	w.closeActive()
}

// abandonSegment ends the active segment after a failed write. Its durable records remain.
func (w *writer) abandonSegment() {
	s := w.active
	if length, err := w.file.Size(); err == nil && length > s.disk {
		w.mu.Lock()
		w.stats.Bytes += length - s.disk
		s.disk = length
		w.mu.Unlock()
	}
	w.closeActive()
}

// closeActive closes the file of the active segment. If all its records are confirmed, finishSegment
// keeps or removes the segment.
func (w *writer) closeActive() {
	s := w.active
	if w.timer != nil {
		w.timer.Stop()
	}
	if err := w.file.Close(); err != nil {
		w.opts.Events.Failed(fmt.Errorf("close segment: %w", err))
	}
	w.active, w.file = nil, nil
	w.mu.Lock()
	s.ended = true
	removed := w.finishSegment(s)
	w.mu.Unlock()
	if removed {
		w.removeFile(s)
	}
}
