package local

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
)

// space watches the room on the folder's disk. A store that runs into the end
// of the disk can neither write nor clean up. So it stops taking readings
// before, and goes on to change items, of which rotation needs a few, until
// half of that room is gone.
type space struct {
	fs   vfs.FS
	dir  string
	min  int64
	now  func() time.Time
	mu   sync.Mutex
	at   time.Time
	free int64
	err  error
}

// spaceEvery is how long a look at the disk serves.
const spaceEvery = time.Second

func newSpace(o Options) *space {
	return &space{fs: o.FS, dir: o.Dir, min: o.MinFree, now: time.Now}
}

// check returns why no readings may be written, or nil.
func (s *space) check() error { return s.leaves(s.min) }

// checkSpare returns why nothing at all may be written, or nil.
func (s *space) checkSpare() error { return s.leaves(s.min / 2) }

func (s *space) leaves(need int64) error {
	if s.min < 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= spaceEvery || now.Before(s.at) {
		s.at = now
		s.free, s.err = s.look()
	}
	if s.err != nil || s.free >= need {
		return s.err
	}
	return &varve.Error{
		Failure:    varve.Unavailable,
		RetryAfter: 10 * time.Second,
		Message: fmt.Sprintf("the disk of data folder %s has %d MiB free, and %d MiB are kept free: make room, or lower store.min_free",
			s.dir, s.free>>20, s.min>>20),
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
