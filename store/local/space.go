package local

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
)

// space watches the room on the folder's disk. A store that runs into the end
// of the disk can neither write nor clean up; so it stops taking writes before.
type space struct {
	fs   vfs.FS
	dir  string
	min  int64
	now  func() time.Time
	mu   sync.Mutex
	at   time.Time
	last error
}

// spaceEvery is how long a look at the disk serves.
const spaceEvery = time.Second

func newSpace(o Options) *space {
	return &space{fs: o.FS, dir: o.Dir, min: o.MinFree, now: time.Now}
}

// check returns why nothing may be written, or nil.
func (s *space) check() error {
	if s.min < 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= spaceEvery || now.Before(s.at) {
		s.at = now
		s.last = s.look()
	}
	return s.last
}

func (s *space) look() error {
	usage, err := s.fs.GetDiskUsage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil // file systems in memory
	}
	if err != nil {
		return err
	}
	if usage.AvailBytes >= uint64(s.min) {
		return nil
	}
	return &varve.Error{
		Failure:    varve.Unavailable,
		RetryAfter: 10 * time.Second,
		Message: fmt.Sprintf("the disk of data folder %s has %d MiB free, and %d MiB are kept free: make room, or lower store.min_free",
			s.dir, usage.AvailBytes>>20, s.min>>20),
	}
}
