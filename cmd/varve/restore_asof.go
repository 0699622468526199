package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rewind"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// restoreAsOf restores a backup, and removes the readings that arrived after a time. The folder is
// not usable before they are removed.
func (c backupCommands) restoreAsOf(ctx context.Context, place string, f *restoreFlags) error {
	at, err := readTime("--as-of", f.asOf)
	if err != nil {
		return err
	}
	if at.After(now()) {
		return usageError{fmt.Errorf("--as-of: %s is in the future: name a time that has passed", at.Format(time.RFC3339Nano))}
	}
	loaded, err := f.load(c.app)
	if err != nil {
		return err
	}
	p, err := openPlace(ctx, place, true)
	if err != nil {
		return err
	}
	var m *backup.Manifest
	if f.name != "" {
		m, err = p.Select(ctx, f.name, time.Time{})
	} else {
		m, err = p.SelectAsOf(ctx, at)
	}
	if err != nil {
		return err
	}
	var removed rewind.Report
	err = c.restore(ctx, p, m, f.data, func() (err error) {
		removed, err = rewindFolder(ctx, f.data, m, at)
		return err
	})
	if err != nil {
		return err
	}
	c.reportRemoved(&loaded.Config, m, at, &removed)
	return nil
}

// rewindFolder removes the readings that arrived after a time from a folder that is being restored. It
// fails if it has removed all readings, because then the time is probably wrong.
func rewindFolder(ctx context.Context, dir string, m *backup.Manifest, at time.Time) (r rewind.Report, err error) {
	st, err := local.Open(local.Options{Dir: dir, Now: now, MinFree: -1, Restoring: true})
	if err != nil {
		return r, err
	}
	r, err = rewind.Run(ctx, st, now(), at)
	err = errors.Join(err, st.Close())
	switch {
	case errors.Is(err, store.ErrDamaged):
		return r, fmt.Errorf("remove later readings: %w: the backup was made of a damaged store: restore it into another folder without --as-of, and save the rest with varve repair", err)
	case err != nil:
		return r, fmt.Errorf("remove later readings: %w", err)
	case r.Removed > 0 && !r.Kept:
		return r, fmt.Errorf("--as-of: no reading of backup %s had arrived by %s: the first one arrived at %s: delete folder %s, and name a later time",
			m.Name(), at.Format(time.RFC3339Nano), r.First.UTC().Format(time.RFC3339Nano), dir)
	}
	return r, nil
}

// reportRemoved prints the number of removed readings, and the readings that may be missing.
func (c backupCommands) reportRemoved(conf *config.Config, m *backup.Manifest, at time.Time, r *rewind.Report) {
	fmt.Fprintf(c.out, "Removed %s that arrived after %s.", count(int(r.Removed), "reading"), at.Format(time.RFC3339Nano))
	if r.Rollups > 0 {
		fmt.Fprintf(c.out, " Removed or marked %s of hours for a recount.", count(r.Rollups, "roll-up"))
	}
	fmt.Fprintln(c.out)
	made := m.Created.UTC()
	if !m.Knows(at) {
		fmt.Fprintf(c.err, "The backup was made before that time: readings that arrived after %s are missing.\n", made.Format(time.RFC3339Nano))
		return
	}
	if !conf.Retention.Drop {
		return
	}
	least := retention.Forever
	for _, class := range conf.Policy().Classes {
		least = min(least, conf.Policy().ShortestOf(class.Name))
	}
	which := ""
	if least != retention.Forever {
		which = fmt.Sprintf(" By the configured retention, their event time and arrival are not after %s.", retention.Cutoff(made, least).Format(time.RFC3339))
	}
	fmt.Fprintf(c.err, "Readings that expired from %s to %s may be missing.%s\n", at.Format(time.RFC3339Nano), made.Format(time.RFC3339), which)
}
