package diskguard

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/health"
)

// waitingFS is a file system whose writes to a full disk wait until the disk has room.
//
// Pebble retries a failed flush immediately and without end, and does not survive a failed write of
// its MANIFEST. Removal of files never waits, because it frees space.
type waitingFS struct {
	vfs.FS
	remover vfs.FS
}

// WaitingFS wraps the file system of Pebble, so that writes to a full disk wait until it has room.
// After ctx has ended, writes wait at most a second.
func (g *Guard) WaitingFS(ctx context.Context, fs vfs.FS) vfs.FS {
	return waitingFS{FS: vfs.OnDiskFull(fs, func() { g.awaitRoom(ctx) }), remover: fs}
}

// Remove implements vfs.FS.
func (h waitingFS) Remove(name string) error { return h.remover.Remove(name) }

// RemoveAll implements vfs.FS.
func (h waitingFS) RemoveAll(name string) error { return h.remover.RemoveAll(name) }

// Unwrap returns the underlying file system.
func (h waitingFS) Unwrap() vfs.FS { return h.remover }

func (g *Guard) recordFull() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = g.now()
	g.free, g.err = g.freeBytes()
	g.full = true
	g.conditions.Set(health.DiskLow, g.message())
}

// awaitRoom waits until the disk has room, but at least a second. If ctx ends earlier, awaitRoom returns
// within a second. The wait limits the rate of retries: Pebble retries immediately, and a quota can refuse
// writes although the disk has room.
func (g *Guard) awaitRoom(ctx context.Context) {
	g.recordFull()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for full := true; full && ctx.Err() == nil; {
		<-tick.C
		g.mu.Lock()
		g.refresh(g.now())
		full = g.full
		g.mu.Unlock()
	}
}
