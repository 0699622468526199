package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
)

// space is the disk guard. A store that runs into the end of the disk can neither
// write nor clean up. So it stops taking readings before, at the least room, and
// other items at half of it. The rest is a reserve for what makes room: rotation,
// drops, and deletes.
type space struct {
	fs         vfs.FS
	dir        string
	min        int64 // negative: there is no reserve
	now        func() time.Time
	conditions *health.Conditions

	mu   sync.Mutex
	at   time.Time
	free int64
	err  error
	full bool // a write found no room, and there is still none
}

const (
	// spaceEvery is how long a look at the disk serves.
	spaceEvery = time.Second
	// roomAgain is how much must be free for writes that found no room to go on:
	// about what Pebble writes at a time.
	roomAgain = 8 << 20
)

func newSpace(o Options) *space {
	return &space{fs: o.FS, dir: o.Dir, min: o.MinFree, now: time.Now, conditions: o.Conditions}
}

// check returns why no readings may be written, or nil.
func (s *space) check() error { return s.leaves(s.min) }

// checkSpare returns why no items may be written, or nil.
func (s *space) checkSpare() error { return s.leaves(s.min / 2) }

// checkReserve returns why nothing at all may be written, or nil.
func (s *space) checkReserve() error { return s.leaves(0) }

func (s *space) leaves(need int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.min < 0 && !s.full {
		return nil
	}
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= spaceEvery || now.Before(s.at) {
		s.refresh(now)
	}
	switch {
	case s.err != nil:
		return s.err
	case s.full, s.free < need:
		return &varve.Error{Failure: varve.Unavailable, RetryAfter: 10 * time.Second, Message: s.message()}
	}
	return nil
}

// refresh looks at the disk and sets or clears the condition. The lock is held.
func (s *space) refresh(now time.Time) {
	s.at = now
	s.free, s.err = s.look()
	s.full = s.full && (s.err != nil || s.free < roomAgain)
	switch {
	case s.err != nil: // nothing is known: the condition stays as it is
	case s.full, s.free < s.min:
		s.conditions.Set(health.DiskLow, s.message())
	default:
		s.conditions.Clear(health.DiskLow)
	}
}

// message says what is wrong with the disk, and what helps. The lock is held.
func (s *space) message() string {
	if s.min < 0 {
		return fmt.Sprintf("the disk of data folder %s is full (%d MiB free): make room, and set store.min_free, which keeps some", s.dir, s.free>>20)
	}
	return fmt.Sprintf("the disk of data folder %s has %d MiB free, and %d MiB are kept free: make room, or lower store.min_free", s.dir, s.free>>20, s.min>>20)
}

// watch keeps the condition up to date, also while nobody writes.
func (s *space) watch(ctx context.Context) {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	for {
		s.mu.Lock()
		s.refresh(s.now())
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *space) look() (free int64, err error) { return freeOn(s.fs, s.dir) }

// Free returns how many bytes the disk of a folder has free.
func Free(dir string) (int64, error) { return freeOn(vfs.Default, dir) }

func freeOn(disk vfs.FS, dir string) (free int64, err error) {
	usage, err := disk.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return math.MaxInt64, nil // file systems in memory
	}
	return int64(min(usage.AvailBytes, math.MaxInt64)), err
}
