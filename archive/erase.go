package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// Erase rewrites the archives of tables without the covered readings. It returns the number of erased readings
// by table. All other readings stay as they are. Tables of one merged archive should be erased in one call.
//
// Before each rewrite, Erase calls the function "begin" unless it is nil, and fails if "begin" fails. So the
// caller can record that readings are being erased. If no archive has covered readings, "begin" is not
// called.
//
// The new files are read back and recounted before the records change. After that, the files of all earlier
// archives of the tables are deleted. Erase may be repeated after an interruption. It fails with a
// store.HoldError if an archive is on hold. The caller makes sure that no table is on hold.
func (a *Archiver) Erase(
	ctx context.Context, tables []grid.Table, covers func(*varve.Reading) bool, begin func(context.Context) error,
) (erased map[grid.Table]int64, err error) {
	if begin == nil {
		begin = func(context.Context) error { return nil }
	}
	erased = map[grid.Table]int64{}
	for _, t := range tables {
		if err := a.catalog.checkErasable(ctx, t); err != nil {
			return erased, err
		}
	}
	e := eraser{merger: merger{a}, tables: tables, covers: covers, begin: begin, erased: erased, complete: map[string]bool{}}
	for _, t := range tables {
		if err := e.eraseTable(ctx, t); err != nil {
			return erased, fmt.Errorf("erase readings of archive %s: %w", t, err)
		}
	}
	return erased, nil
}

type eraser struct {
	merger
	tables   []grid.Table
	covers   func(*varve.Reading) bool   // reports whether to erase a reading of these tables
	begin    func(context.Context) error // called before each rewrite
	erased   map[grid.Table]int64        // number of erased readings by table
	complete map[string]bool             // names of merged archives that need no further erasure
}

// checkErasable fails if the archive of a table is on hold, being written or being deleted.
func (c Catalog) checkErasable(ctx context.Context, t grid.Table) error {
	r, found, err := c.Get(ctx, t)
	if err != nil || !found {
		return err
	}
	if err := r.checkWhole(); err != nil {
		return err
	}
	if err := r.checkHold(); err != nil {
		return fmt.Errorf("erase readings of archive %s: %w", t, err)
	}
	return nil
}

// checkHold fails with a store.HoldError if the archive is on hold.
func (r *Record) checkHold() error {
	if r.Hold != "" {
		return &store.HoldError{Reason: r.Hold}
	}
	return nil
}

// eraseTable erases readings of a table from its own archive. Then it erases the covered readings of all
// tables from the merged archives that have readings of this table.
//
// The hold of each record is checked when it is read. If the archive is put on hold after that, the
// record has changed, and cannot be written any more.
func (e *eraser) eraseTable(ctx context.Context, t grid.Table) error {
	r, found, err := e.catalog.Get(ctx, t)
	if err != nil {
		return err
	}
	if err := r.checkHold(); err != nil {
		return err
	}
	if found && r.Merged != "" {
		if err := (Acceptor{merger: e.merger}).registerPointed(ctx, &r); err != nil {
			return err
		}
	}
	if found && r.Merged == "" {
		n, err := e.eraseFrom(ctx, &r)
		e.erased[t] += n
		if err != nil {
			return err
		}
	}
	// List the merged archives only after eraseFrom has changed the record. A merge that begins
	// after this call reads the changed archive. A merge that began earlier is in the list.
	list, err := e.catalog.ListMerged(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if m := &list[i]; slices.Contains(m.Tables, t) && !e.complete[m.Name] {
			if err := e.eraseMerged(ctx, m); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			e.complete[m.Name] = true
		}
	}
	return e.deleteOwn(ctx, t)
}

// deleteOwn deletes the files of a table's own archives, if its record points to a merged archive.
func (e *eraser) deleteOwn(ctx context.Context, t grid.Table) error {
	r, found, err := e.catalog.Get(ctx, t)
	switch {
	case err != nil || !found || r.Merged == "":
		return err
	case !r.Single: // earlier attempts to archive the table alone, or an acceptance, may have left files
		files, manifests, err := e.files.ownObjects(ctx, &r)
		if err != nil || len(files)+len(manifests) == 0 {
			return err
		}
	}
	if err := e.Verify(ctx, &r); err != nil {
		return err
	}
	return e.deleteSingle(ctx, &r)
}

// checkWhole fails unless the archive is complete. An archive that is being written or deleted may
// have files that no manifest names.
func (r *Record) checkWhole() error {
	switch r.State {
	case Archived:
		return nil
	case Expiring:
		return varve.Errorf(varve.Unavailable, "the archive of %s is being deleted: retry later", r.Table)
	default:
		return varve.Errorf(varve.Unavailable, "the archive of %s is being written: retry later", r.Table)
	}
}

func (e *eraser) eraseFrom(ctx context.Context, r *Record) (erased int64, err error) {
	m, err := e.files.manifest(ctx, r)
	if err != nil {
		return 0, err
	}
	rest := 0
	err = e.files.eachBlockExactly(ctx, m, r.Dir, func(b *block.Block) error {
		n := countCovered(b, e.covers)
		erased, rest = erased+int64(n), rest+b.Len()-n
		return nil
	})
	if err != nil {
		return 0, err
	}
	if int64(rest)+erased != m.Readings {
		return 0, contentError{fmt.Errorf("%d readings, the manifest has %d", int64(rest)+erased, m.Readings)}
	}
	if erased > 0 {
		if err := e.begin(ctx); err != nil {
			return 0, err
		}
		if err := e.rewrite(ctx, r, m, int64(rest), e.covers); err != nil {
			return 0, err
		}
	}
	if err := e.deleteLeftovers(ctx, r); err != nil { // an attempt that died may have erased readings
		return erased, err
	}
	return erased, e.deleteEarlier(ctx, r)
}

func countCovered(b *block.Block, covers func(*varve.Reading) bool) (n int) {
	for i := range b.Len() {
		var rd varve.Reading
		if b.Fill(i, &rd); covers(&rd) {
			n++
		}
	}
	return n
}

// rewrite writes the next archive of a table, with the readings of the present one that are not
// covered.
func (a *Archiver) rewrite(ctx context.Context, r *Record, old *Manifest, rest int64, covers func(*varve.Reading) bool) error {
	attempt, err := newAttempt()
	if err != nil {
		return err
	}
	if err := a.claim(ctx, r, attempt, r.Generation); err != nil {
		return err
	}
	at := r.place(attempt)
	at.replaces = append(old.Replaces[:len(old.Replaces):len(old.Replaces)], old.total())
	m, err := a.writeFrom(ctx, at, func(to tablescan.Sink) error {
		return a.files.eachBlockExactly(ctx, old, r.Dir, func(b *block.Block) error { return passRest(b, covers, to) })
	})
	if err != nil {
		return err
	}
	if m.Readings != rest {
		return fmt.Errorf("%d readings were written, want %d", m.Readings, rest)
	}
	next := *r
	body, err := a.putNextManifest(ctx, &next, m)
	if err != nil {
		return err
	}
	if err := a.files.verify(ctx, m, r.Dir); err != nil {
		return err
	}
	if err := a.finish(ctx, &next, m, r.At, body); err != nil {
		return err
	}
	*r = next
	return nil
}

// passRest passes the remaining readings of a block to a sink: those for which covers returns false.
func passRest(b *block.Block, covers func(*varve.Reading) bool, to tablescan.Sink) error {
	if countCovered(b, covers) == 0 {
		return to.Part(&block.Part{Block: b, From: 0, To: b.Len()})
	}
	for i := range b.Len() {
		var rd varve.Reading
		if b.Fill(i, &rd); covers(&rd) {
			continue
		}
		if err := to.Reading(&rd); err != nil {
			return err
		}
	}
	return nil
}

// putNextManifest writes a manifest under the next free number, and reads it back. It sets the number in the
// record.
func (a *Archiver) putNextManifest(ctx context.Context, r *Record, m *Manifest) (body []byte, err error) {
	if body, err = m.encode(); err != nil {
		return nil, err
	}
	for r.Generation++; ; r.Generation++ {
		err := a.files.putManifest(ctx, r.singleKey(), body)
		if !errors.Is(err, objectstore.ErrExists) {
			return body, err
		}
	}
}

// deleteEarlier deletes the table's own archives except the present one. A manifest is deleted after the
// files that it names. If the present archive is not whole, nothing is deleted. The files of the present
// archive stay, even if a copy of its manifest has another number.
func (a *Archiver) deleteEarlier(ctx context.Context, r *Record) error {
	numbers, err := a.files.generations(ctx, r)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n == r.Generation {
			continue
		}
		key := r.Dir + manifestName(n)
		body, err := a.opts.Objects.Get(ctx, key, 0, -1)
		if errors.Is(err, objectstore.ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		m, err := parseManifest(body, r.Table.Name())
		if err != nil {
			if err := a.files.checkUnnamed(ctx, r, key); err != nil {
				return err
			}
			continue // the object belongs to another program
		}
		if err := a.Verify(ctx, r); err != nil {
			return err
		}
		present, err := a.files.manifest(ctx, r)
		if err != nil {
			return err
		}
		if m.Attempt == present.Attempt {
			continue // a copy of the present manifest, which names the present files
		}
		for _, f := range m.allFiles() {
			if err := a.opts.Objects.Delete(ctx, r.Dir+f.Name); err != nil {
				return err
			}
		}
		if err := a.opts.Objects.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// hasEarlier reports whether the table has archives of its own beside the present one. If the record points
// to a merged archive, hasEarlier reports whether the table has any archive of its own.
func (a *Archiver) hasEarlier(ctx context.Context, r *Record) (bool, error) {
	numbers, err := a.files.generations(ctx, r)
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		if n == r.Generation && r.Merged == "" {
			continue
		}
		_, err := a.opts.Objects.Stat(ctx, r.Dir+manifestName(n))
		if !errors.Is(err, objectstore.ErrMissing) {
			return err == nil, err
		}
	}
	return false, nil
}
