package diskguard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store/local/journal"
)

// Guard checks the free space of a disk. It is safe for concurrent use.
type Guard struct {
	fs         vfs.FS
	dir        string
	min        int64 // free bytes below which readings are refused; a negative value means no reserve
	now        func() time.Time
	conditions *health.Conditions

	mu   sync.Mutex
	at   time.Time // time of the last check of the disk; zero before the first check
	free int64     // free bytes at the last check
	err  error     // error of the last check, or nil
	full bool      // whether a write found no room, and the disk is still full
}

const (
	// checkEvery is the time for which a check of the disk is valid.
	checkEvery = time.Second
	// resumeFree is the free space at which waiting writes continue. It is about the size of one write
	// of Pebble.
	resumeFree = 8 << 20
)

// New returns a guard of the disk of a folder. If minFree is negative, writes are refused only
// after a write has found no room. The guard sets health.DiskLow in conditions, which may be nil.
func New(fs vfs.FS, dir string, minFree int64, conditions *health.Conditions) *Guard {
	return &Guard{fs: fs, dir: dir, min: minFree, now: time.Now, conditions: conditions}
}

// CheckReadings returns an error if readings must not be written, because the whole reserve must
// stay free.
func (g *Guard) CheckReadings() error { return g.requireFree(g.min) }

// CheckItems returns an error if items must not be written, because half of the reserve must stay
// free.
func (g *Guard) CheckItems() error { return g.requireFree(g.min / 2) }

// CheckReserve returns an error if a write has found no room, and the disk is still full. Callers
// use it before writes that may use the reserve, such as holds and drops.
func (g *Guard) CheckReserve() error { return g.requireFree(0) }

func (g *Guard) requireFree(need int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.min < 0 && !g.full {
		return nil
	}
	if now := g.now(); g.at.IsZero() || now.Sub(g.at) >= checkEvery || now.Before(g.at) {
		g.refresh(now)
	}
	switch {
	case g.err != nil:
		return g.err
	case g.full, g.free < need:
		return &varve.Error{Failure: varve.Unavailable, RetryAfter: 10 * time.Second, Message: g.message()}
	}
	return nil
}

// refresh checks the disk and sets or clears the condition. The caller has locked mu.
func (g *Guard) refresh(now time.Time) {
	g.at = now
	g.free, g.err = g.freeBytes()
	g.full = g.full && (g.err != nil || g.free < resumeFree)
	switch {
	case g.err != nil: // the state is unknown, so the condition does not change
	case g.full, g.free < g.min:
		g.conditions.Set(health.DiskLow, g.message())
	default:
		g.conditions.Clear(health.DiskLow)
	}
}

// message returns the problem of the disk and the remedy. The caller has locked mu.
func (g *Guard) message() string {
	if g.min < 0 {
		return fmt.Sprintf("the disk of data folder %s is full (%d MiB free): make room, and set store.min_free to keep a reserve", g.dir, g.free>>20)
	}
	return fmt.Sprintf("the disk of data folder %s has %d MiB free, and %d MiB are kept free: make room, or lower store.min_free", g.dir, g.free>>20, g.min>>20)
}

// Watch updates the condition every second until ctx ends, even without writes.
func (g *Guard) Watch(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		g.mu.Lock()
		g.refresh(g.now())
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (g *Guard) freeBytes() (free int64, err error) { return freeOn(g.fs, g.dir) }

// Free returns the free space on the disk of a folder, in bytes.
func Free(dir string) (int64, error) { return freeOn(vfs.Default, dir) }

func freeOn(disk vfs.FS, dir string) (free int64, err error) {
	usage, err := disk.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return math.MaxInt64, nil // a file system in memory has no limit
	}
	return int64(min(usage.AvailBytes, math.MaxInt64)), err
}

// Unavailable marks an error as temporary, so that clients retry. If the cause is a full disk,
// Unavailable records that for later checks. It returns the errors of an ended context and of a
// closed journal unchanged.
func (g *Guard) Unavailable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, journal.ErrClosed) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) {
		g.recordFull()
	}
	return &varve.Error{Failure: varve.Unavailable, Message: "not stored for now", RetryAfter: time.Second, Err: err}
}
