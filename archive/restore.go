package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/internal/wait"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// RestoredHold is the reason for the hold on a table that is restored from its archive.
const RestoredHold = "restored from its archive"

// Target is the part of a store into which an archive is restored.
type Target interface {
	store.Writer
	store.Creator
	store.Lifecycle
	store.Catalog
}

// restoreBatch is the maximum number of readings per write.
const restoreBatch = 1000

// Restore writes the readings of an archive back into a new table, with their original arrivals. The
// table is put on hold before its first reading, so that it is not retired and dropped. An
// interrupted Restore can be repeated. It fails with varve.Conflict if the table exists, unless it was
// left by a Restore or is empty.
func (a *Archiver) Restore(ctx context.Context, r *Record, to Target) error {
	if err := a.Verify(ctx, r); err != nil {
		return err
	}
	if err := a.createRestored(ctx, r, to); err != nil {
		return err
	}
	m, err := a.files.manifest(ctx, r)
	if err != nil {
		return err
	}
	batch := store.Batch{Table: r.Table}
	flush := func() error {
		err := writeRestored(ctx, to, batch)
		batch.Readings = nil
		return err
	}
	err = a.files.eachBlockExactly(ctx, m, r.FilesDir(), func(b *block.Block) error {
		from, to := rowsIn(b, r.Table.Window())
		for i := from; i < to; i++ {
			var rd varve.Reading
			b.Fill(i, &rd)
			batch.Readings = append(batch.Readings, rd)
			if len(batch.Readings) == restoreBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = a.compareTable(ctx, m, r)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.Table, err)
	}
	return nil
}

// createRestored creates the table and puts it on hold.
func (a *Archiver) createRestored(ctx context.Context, r *Record, to Target) error {
	infos, err := to.Tables(ctx, store.Filter{Prefixes: []string{r.Table.Prefix}, Window: r.Table.Window(), Details: true, Fresh: true})
	if err != nil {
		return err
	}
	for i := range infos {
		if infos[i].Table != r.Table {
			continue
		}
		ready, err := mayRestoreInto(ctx, a.opts.Store, &infos[i])
		if err != nil {
			return err
		}
		if !ready {
			return varve.Errorf(varve.Conflict, "table %s exists: nothing was restored; if it is retired, use varve tables restore", r.Table)
		}
	}
	if err := to.Create(ctx, r.Table, store.Cold); err != nil {
		return err
	}
	return to.Hold(ctx, r.Table, RestoredHold)
}

// mayRestoreInto reports whether an existing table has only readings of an interrupted Restore. That Restore
// may have stopped while the table was being created, or before it was put on hold.
func mayRestoreInto(ctx context.Context, from store.Enumerator, in *store.Info) (bool, error) {
	switch {
	case !in.Owned:
		return false, nil
	case in.Hold == RestoredHold || in.Status == store.Creating:
		return true, nil
	case in.Status != store.Active || in.Hold != "" || !in.Retired.IsZero() || in.Readings > 0:
		return false, nil
	}
	for after := ""; ; { // the number of readings in the catalog may be out of date
		page, err := from.Series(ctx, store.SeriesQuery{Table: in.Table, After: after})
		if err != nil || len(page.Series) > 0 {
			return false, err
		}
		if after = page.Next; after == "" {
			return true, nil
		}
	}
}

// writeRestored writes readings. It retries readings that the store could not accept for now.
func writeRestored(ctx context.Context, to Target, batch store.Batch) error {
	const attempts = 10
	for range attempts {
		if len(batch.Readings) == 0 {
			return nil
		}
		res := to.Write(ctx, []store.Batch{batch})[0]
		if res.Err != nil {
			return res.Err
		}
		var again []varve.Reading
		for i, v := range res.Verdicts {
			if v.Outcome != varve.Rejected {
				continue
			}
			if v.Code == varve.CodeConflict {
				return fmt.Errorf("%s: %s", batch.Readings[i].String(), v)
			}
			again = append(again, batch.Readings[i])
		}
		batch.Readings = again
		if err := wait.For(ctx, time.Duration(len(again))*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the store accepts no more readings for now: repeat the command")
}

// compareTable compares a table with the digests of its archive.
func (a *Archiver) compareTable(ctx context.Context, m *Manifest, r *Record) error {
	days, err := a.files.openDays(ctx, m, r.FilesDir())
	if err != nil {
		return err
	}
	want, rows := m.total(), m.Digests.Rows
	if e := m.entryOf(r.Table); e != nil {
		w := r.Table.Window() // begins and ends at midnight, so it selects whole days
		want, rows, days.only = *e, -1, &w
	}
	count := tally{emit: days.expect}
	if err := a.scan(ctx, r.Table, tablescan.Sink{Part: count.addPart, Reading: count.addReading}); err != nil {
		return err
	}
	return days.end(want, rows, &count)
}

// eachBlockExactly is like eachBlock, but the numbers have the decimals with which they were written.
func (o *files) eachBlockExactly(ctx context.Context, m *Manifest, dir string, each func(*block.Block) error) error {
	for i := range m.Files {
		rd, err := o.openFile(ctx, &m.Files[i], m, dir)
		if err != nil {
			return err
		}
		for g := range rd.Groups() {
			if err := eachInGroup(rd, g, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachInGroup(rd *parquetfile.Reader, g int, each func(*block.Block) error) error {
	blocks, err := rd.ReadGroup(g, true)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if err := each(b); err != nil {
			return err
		}
	}
	return nil
}
