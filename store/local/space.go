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

// space is the disk guard. A store on a full disk can neither write nor clean up. So it refuses
// readings below the minimum free space, and items below half of it. The rest is a reserve for
// writes that free space: rotation, drops and deletes.
type space struct {
	fs         vfs.FS
	dir        string
	min        int64 // a negative value means no reserve
	now        func() time.Time
	conditions *health.Conditions

	mu   sync.Mutex
	at   time.Time
	free int64
	err  error
	full bool // a write found no room, and the disk is still full
}

const (
	// spaceEvery is the time for which a check of the disk is valid.
	spaceEvery = time.Second
	// roomAgain is the free space with which waiting writes continue. It is about the size of
	// one write of Pebble.
	roomAgain = 8 << 20
)

func newSpace(o Options) *space {
	return &space{fs: o.FS, dir: o.Dir, min: o.MinFree, now: time.Now, conditions: o.Conditions}
}

// check returns an error if readings must not be written.
func (s *space) check() error { return s.leaves(s.min) }

// checkSpare returns an error if items must not be written.
func (s *space) checkSpare() error { return s.leaves(s.min / 2) }

// checkReserve returns an error if no data may be written.
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

// refresh checks the disk and sets or clears the condition. The caller holds the lock.
func (s *space) refresh(now time.Time) {
	s.at = now
	s.free, s.err = s.look()
	s.full = s.full && (s.err != nil || s.free < roomAgain)
	switch {
	case s.err != nil: // the state is unknown, so the condition does not change
	case s.full, s.free < s.min:
		s.conditions.Set(health.DiskLow, s.message())
	default:
		s.conditions.Clear(health.DiskLow)
	}
}

// message returns the problem of the disk and the remedy. The caller holds the lock.
func (s *space) message() string {
	if s.min < 0 {
		return fmt.Sprintf("the disk of data folder %s is full (%d MiB free): make room, and set store.min_free to keep a reserve", s.dir, s.free>>20)
	}
	return fmt.Sprintf("the disk of data folder %s has %d MiB free, and %d MiB are kept free: make room, or lower store.min_free", s.dir, s.free>>20, s.min>>20)
}

// watch updates the condition, also without writes.
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

// Free returns the free space on the disk of a folder, in bytes.
func Free(dir string) (int64, error) { return freeOn(vfs.Default, dir) }

func freeOn(disk vfs.FS, dir string) (free int64, err error) {
	usage, err := disk.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return math.MaxInt64, nil // a file system in memory
	}
	return int64(min(usage.AvailBytes, math.MaxInt64)), err
}
