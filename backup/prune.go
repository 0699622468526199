package backup

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Pruned counts what Prune deleted, or would delete.
type Pruned struct {
	Backups []string // names of the deleted backups
	Files   int      // number of deleted files
	Bytes   int64    // size of the deleted files
}

// maxAhead is how far a backup may be in the future before Prune refuses to compare the ages of backups.
const maxAhead = 24 * time.Hour

// Prune deletes old backups, and the files that no backup needs any more. It keeps the last undamaged
// backups, as many as the argument "keep", and all backups after the oldest of these. If fewer
// undamaged backups exist, it keeps all backups. Prune fails, and deletes nothing, if one of the
// manifests cannot be read, because the files that this manifest lists are then unknown. It also fails
// if a backup is more than a day in the future, because newer backups then count as older ones. With
// dryRun, Prune deletes nothing.
func (p *Place) Prune(ctx context.Context, keep int, dryRun bool) (done *Pruned, err error) {
	if keep < 1 {
		return nil, fmt.Errorf("keep: %d is not at least 1", keep)
	}
	err = p.withMark(ctx, func(lock *mark) (err error) {
		done, err = p.pruneMarked(ctx, lock, keep, dryRun)
		return err
	})
	return done, err
}

// pruneMarked implements Prune while the mark is valid.
func (p *Place) pruneMarked(ctx context.Context, lock *mark, keep int, dryRun bool) (*Pruned, error) {
	list, err := p.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(list); n > 0 && list[n-1].Created.Sub(p.now()) > maxAhead {
		return nil, p.failed(fmt.Errorf("backup %s is in the future: correct the clock, or delete %s of a wrong clock", list[n-1].Name(), p.prefix+list[n-1].key()))
	}
	old := list[:firstKept(list, keep)]
	done := &Pruned{}
	for _, m := range old {
		if !dryRun {
			if err := lock.delete(ctx, m.key()); err != nil {
				return done, err
			}
		}
		done.Backups = append(done.Backups, m.Name())
	}
	return done, p.pruneFiles(ctx, lock, list[len(old):], dryRun, done)
}

// firstKept returns the index of the oldest backup to keep, so that the given number of undamaged
// backups are kept. It returns 0 if fewer exist.
func firstKept(list []*Manifest, keep int) int {
	for i, m := range slices.Backward(list) {
		if len(m.Damages()) == 0 {
			keep--
		}
		if keep == 0 {
			return i
		}
	}
	return 0
}

// pruneFiles deletes the files that none of the backups needs. Files whose names do not have the
// length of a hash are left alone.
func (p *Place) pruneFiles(ctx context.Context, lock *mark, kept []*Manifest, dryRun bool, done *Pruned) error {
	needed := map[string]bool{}
	for _, m := range kept {
		for i := range m.Files {
			needed[m.Files[i].key()] = true
		}
	}
	files, err := p.list(ctx, filesPrefix)
	if err != nil {
		return err
	}
	for key, size := range files {
		if needed[key] || len(key) != len(filesPrefix)+64 {
			continue
		}
		if !dryRun {
			if err := lock.delete(ctx, key); err != nil {
				return err
			}
		}
		done.Files++
		done.Bytes += size
	}
	return nil
}
