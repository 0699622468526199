package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const snapshotsDir = "snapshots"

// Snapshot is a copy of the data folder from one moment, in a folder of its own. It has all data
// that was acknowledged before the call of Store.Snapshot, and may have data that was acknowledged
// during the call.
//
// Its large files are links to files of the store, so it takes little time and room. But files
// that the store deletes later take room until Remove.
type Snapshot struct {
	Dir     string // folder of the snapshot; Open and Examine accept it like a data folder
	Store   string // id of the store
	Created time.Time
	fs      vfs.FS
}

// Remove deletes the snapshot.
func (s *Snapshot) Remove() error { return s.fs.RemoveAll(s.Dir) }

// snapshotter makes snapshots. A snapshot has the same content as a data folder after a power cut,
// so Open recovers it in the same way.
type snapshotter struct {
	db      *database
	catalog *catalog
	flusher *flusher
}

// snapshot flushes the memtable, and copies the store into a new folder. Writes continue meanwhile. The
// caller must ensure that no other flush runs.
//
// The order of the copies ensures that a power cut could leave the same state. CATALOG may be older
// than Pebble, and Pebble may be older than the journal. No flush removes segments meanwhile.
func (s *snapshotter) snapshot(ctx context.Context) (_ *Snapshot, err error) {
	if err := s.db.guard.CheckItems(); err != nil {
		return nil, err
	}
	// A canceled flush would count as failed, so ctx is not used.
	if err := s.flusher.flush(s.db.life.background); err != nil {
		return nil, err
	}
	f := s.db.folder
	now := s.db.opts.Now().UTC()
	to := &Snapshot{Dir: f.path(snapshotsDir, strconv.FormatInt(now.UnixNano(), 10)), Store: f.id.String(), Created: now, fs: f.fs}
	if err := f.fs.MkdirAll(f.path(snapshotsDir), 0o755); err != nil {
		return nil, f.failed(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("snapshot: %w", err), to.Remove())
		}
	}()
	journal := f.fs.PathJoin(to.Dir, "journal")
	if err := f.fs.MkdirAll(journal, 0o755); err != nil {
		return nil, err
	}
	if err := s.copyCatalog(to.Dir); err != nil {
		return nil, err
	}
	if err := s.checkpoint(f.fs.PathJoin(to.Dir, "pebble")); err != nil {
		return nil, err
	}
	if err := s.copyPair(to.Dir, lostFile); err != nil {
		return nil, err
	}
	if err := s.db.journal.CopyTo(ctx, journal); err != nil {
		return nil, err
	}
	// VARVE is last: a folder without it is not a whole store.
	return to, s.copyFile("VARVE", f.fs.PathJoin(to.Dir, "VARVE"))
}

// checkpoint copies Pebble's files. Pebble panics if it cannot sync the new folder. The store itself
// is unaffected by that, so the panic becomes an error.
func (s *snapshotter) checkpoint(to string) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("checkpoint: %v", failed)
		}
	}()
	s.db.aside.RLock()
	defer s.db.aside.RUnlock()
	if err := s.db.Checkpoint(to); err != nil {
		return err
	}
	return s.copyFile("pebble/VARVE", s.db.opts.FS.PathJoin(to, "VARVE"))
}

// copyCatalog copies CATALOG while no table changes.
func (s *snapshotter) copyCatalog(to string) error {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	return s.copyPair(to, catalogFile)
}

// copyPair copies both copies of a pair, as far as they exist.
func (s *snapshotter) copyPair(to, name string) error {
	for _, copied := range []string{name, copyOf(name)} {
		err := s.copyFile(copied, s.db.opts.FS.PathJoin(to, copied))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *snapshotter) copyFile(name, to string) (err error) {
	disk := s.db.opts.FS
	in, err := disk.Open(s.db.folder.path(name))
	if err != nil {
		return err
	}
	defer func() { err = closing(err, in) }()
	out, err := disk.Create(to, "varve-store")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return closing(err, out)
}

// Snapshot makes a snapshot in the data folder. A snapshot that is not removed is deleted when the
// store is opened again.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.life.enter(ctx); err != nil {
		return nil, err
	}
	defer s.life.leave()
	var made *Snapshot
	err := s.flusher.runExclusive(ctx, func() (err error) {
		made, err = s.snapshots.snapshot(ctx)
		return err
	})
	return made, err
}
