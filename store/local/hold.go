package local

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/health"
)

// holding is a file system on which writes without room wait until the disk has room.
//
// Pebble retries a failed flush at once and without end, and does not survive a failed write of
// its log. Removal of files never waits, because it frees space.
type holding struct {
	vfs.FS
	remover vfs.FS
}

// hold returns the file system of the data folder for Pebble. After ctx has ended, writes wait
// at most a second.
func (s *space) hold(ctx context.Context, fs vfs.FS) vfs.FS {
	return holding{FS: vfs.OnDiskFull(fs, func() { s.awaitRoom(ctx) }), remover: fs}
}

// Remove implements vfs.FS.
func (h holding) Remove(name string) error { return h.remover.Remove(name) }

// RemoveAll implements vfs.FS.
func (h holding) RemoveAll(name string) error { return h.remover.RemoveAll(name) }

// Unwrap returns the underlying file system.
func (h holding) Unwrap() vfs.FS { return h.remover }

// foundFull records that a write found no room.
func (s *space) foundFull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.now()
	s.free, s.err = s.look()
	s.full = true
	s.conditions.Set(health.DiskLow, s.message())
}

// awaitRoom waits until the disk has room or ctx ends, and for at least a second. Pebble retries
// at once, and a quota can refuse writes although the disk has room.
func (s *space) awaitRoom(ctx context.Context) {
	s.foundFull()
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	for full := true; full && ctx.Err() == nil; {
		<-tick.C
		s.mu.Lock()
		s.refresh(s.now())
		full = s.full
		s.mu.Unlock()
	}
}
