package archive

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// Source is the part of a store that an Archiver reads.
type Source = tablescan.Source

// Options configure an Archiver. Store, Items, Objects, ClassOf and Now are required.
type Options struct {
	Store   Source
	Items   store.Items
	Objects objectstore.Store
	Prefix  string // prefix of all keys; may be empty
	// ClassOf returns the retention class of a table.
	ClassOf func(grid.Table) string
	Now     func() time.Time
	// Rate limits the readings per second that are read: from the store, and from archives that are merged. 0
	// means no limit.
	Rate float64
	// Pace returns the pace of a task. The task then rests while small writes arrive. If nil, tasks do not rest.
	Pace func() *lanes.Pace
	// ExactCounts means that the catalog of the store counts the readings of a table exactly.
	ExactCounts bool
	// GroupRows and FileBytes bound the row groups and the files. 0 means the default.
	GroupRows int
	FileBytes int
}

// Archiver archives tables. It is safe for concurrent use. If two Archivers archive one table at
// the same time, even in two processes, the archive that is recorded is whole.
type Archiver struct {
	opts    Options
	catalog Catalog
	files   files
	scanner tablescan.Scanner

	mergedMemory int64 // see the constant mergedMemory
}

type files struct {
	objects objectstore.Store
	pace    func() *lanes.Pace // see Options.Pace
}

// New returns an Archiver.
func New(o Options) *Archiver {
	return &Archiver{
		opts: o, catalog: Catalog{o.Items}, files: files{o.Objects, o.Pace}, scanner: tablescan.Scanner{Source: o.Store, Rate: o.Rate},
		mergedMemory: mergedMemory,
	}
}

// Catalog returns the records of archives.
func (a *Archiver) Catalog() Catalog { return a.catalog }

// Objects returns the object store with the files.
func (a *Archiver) Objects() objectstore.Store { return a.opts.Objects }

// Archive makes sure that a table has a verified archive with all its readings, and returns its record. If
// the table lacks readings of its recorded archive, and this archive is whole, the next archive has the
// readings of both.
//
// The caller makes sure that no reading is written to the table any more. Archive reads the table unless Check
// accepts its archive.
func (a *Archiver) Archive(ctx context.Context, in *store.Info) (Record, error) {
	r, err := a.archive(ctx, in)
	if err != nil {
		return r, fmt.Errorf("archive %s: %w", in.Table, err)
	}
	return r, nil
}

func (a *Archiver) archive(ctx context.Context, in *store.Info) (Record, error) {
	begin := a.opts.Now().UTC() // a reading that is written after begin may be missing from the archive
	r, found, err := a.catalog.Get(ctx, in.Table)
	if err != nil {
		return r, err
	}
	switch {
	case found && r.State == Archived:
		bad := a.Check(ctx, &r, in)
		if bad == nil {
			err := a.forgetAttempts(ctx, &r)
			return r, err
		}
		if in.Hold == RestoredHold {
			return r, varve.Errorf(varve.Conflict, "the table is being restored from its archive and differs from it (%s): repeat the restore", bad)
		}
	case found && r.State == Expiring:
		return r, errors.New("its archive is being deleted: retry later")
	case !found:
		class := a.opts.ClassOf(in.Table)
		r = Record{Table: in.Table, State: Writing, Class: class, Dir: Dir(a.opts.Prefix, class, in.Table), Generation: 1}
	}
	recorded, err := a.files.recorded(ctx, &r)
	if err != nil {
		return r, err
	}
	generation := r.Generation
	if r.Merged != "" {
		generation++ // the table gets its own archive again, and its manifest needs a name that was never used
	}
	j := job{in, recorded, begin}
	// If a manifest exists and its files have the readings to archive, adopt records it. If the files differ,
	// the next generation is tried. The manifest may be from a process that died, or from before the table
	// was retired once more.
	for ; ; generation++ {
		body, err := a.opts.Objects.Get(ctx, r.Dir+manifestName(generation), 0, -1)
		switch {
		case errors.Is(err, objectstore.ErrMissing):
			err := a.attempt(ctx, &r, generation, &j)
			if errors.Is(err, objectstore.ErrExists) {
				continue // another process has written the manifest first
			}
			return r, err
		case err != nil:
			return r, fmt.Errorf("read manifest: %w", err)
		}
		if err := a.adopt(ctx, &r, generation, &j, body); !isContent(err) {
			return r, err
		}
	}
}

// adopt records an archive that has a manifest, if its files are whole and have exactly the readings of a
// job.
func (a *Archiver) adopt(ctx context.Context, r *Record, generation int, j *job, body []byte) error {
	m, err := parseManifest(body, r.Table.Name())
	if err != nil {
		return contentError{err}
	}
	readings, err := a.compare(ctx, &stored{m, r.Dir}, j)
	if err != nil {
		return err
	}
	next := *r
	next.Generation, next.Beyond = generation, m.Readings-readings
	if err := a.finish(ctx, &next, m, j.begin, body); err != nil {
		return err
	}
	*r = next
	return nil
}

// attempt writes the files and the manifest of an archive, verifies them and records the archive.
func (a *Archiver) attempt(ctx context.Context, r *Record, generation int, j *job) error {
	attempt, err := newAttempt()
	if err != nil {
		return err
	}
	if err := a.claim(ctx, r, attempt, generation); err != nil {
		return err
	}
	m, readings, err := a.write(ctx, r, j, attempt)
	if err != nil {
		return err
	}
	body, err := m.encode()
	if err != nil {
		return err
	}
	next := *r
	next.Generation, next.Beyond = generation, m.Readings-readings
	if err := a.files.putManifest(ctx, next.singleKey(), body); err != nil {
		return err
	}
	if err := a.files.verify(ctx, m, r.Dir); err != nil {
		return err
	}
	if err := a.finish(ctx, &next, m, j.begin, body); err != nil {
		return err
	}
	*r = next
	return nil
}

// claim records an attempt before its first file is written. So Varve later recognizes the files of the
// attempt. Then claim deletes the files of earlier attempts. A process that still writes an earlier
// attempt can no longer record it, because the record has changed. The recorded archive stays readable.
func (a *Archiver) claim(ctx context.Context, r *Record, attempt string, generation int) error {
	claimed := *r
	claimed.Tried = max(r.Tried, generation)
	claimed.Attempts = append(slices.Clone(r.Attempts), attempt)
	if err := a.catalog.put(ctx, &claimed); err != nil {
		return err
	}
	*r = claimed
	if len(r.Attempts) == 1 {
		return nil
	}
	earlier := *r
	earlier.Attempts = r.Attempts[:len(r.Attempts)-1]
	if err := a.deleteLeftovers(ctx, &earlier); err != nil {
		return fmt.Errorf("delete files of earlier attempts: %w", err)
	}
	claimed.Attempts = []string{attempt}
	if err := a.catalog.put(ctx, &claimed); err != nil {
		return err
	}
	*r = claimed
	return nil
}

// finish deletes the leftovers of the record's attempts, and then records that the table is archived.
func (a *Archiver) finish(ctx context.Context, r *Record, m *Manifest, begin time.Time, body []byte) error {
	if err := a.deleteLeftovers(ctx, r); err != nil {
		return fmt.Errorf("delete files of earlier attempts: %w", err)
	}
	done := *r
	done.State, done.Attempts, done.Manifest, done.Digest = Archived, nil, objectstore.SumOf(body), m.Digest
	done.Merged, done.Single = "", false
	done.Readings, done.Series, done.Bytes, done.Files, done.At = m.Readings, m.Series, m.Bytes(), int64(len(m.Files)), begin
	if err := a.catalog.put(ctx, &done); err != nil {
		return err
	}
	*r = done
	return nil
}

// forgetAttempts deletes the files of the attempts in the record of a whole archive, and removes the attempts from
// the record. The archive may have become whole again after an attempt to replace it began, because an operator
// restored a damaged file.
func (a *Archiver) forgetAttempts(ctx context.Context, r *Record) error {
	if len(r.Attempts) == 0 {
		return nil
	}
	if err := a.deleteLeftovers(ctx, r); err != nil {
		return fmt.Errorf("delete files of earlier attempts: %w", err)
	}
	next := *r
	next.Attempts = nil
	if err := a.catalog.put(ctx, &next); err != nil {
		return err
	}
	*r = next
	return nil
}

// deleteLeftovers deletes the files of the attempts in the record, except attempts that a manifest
// names.
func (a *Archiver) deleteLeftovers(ctx context.Context, r *Record) error {
	if len(r.Attempts) == 0 {
		return nil
	}
	whole, err := a.files.attemptsWithManifest(ctx, r)
	if err != nil {
		return err
	}
	var keys []string
	err = a.opts.Objects.List(ctx, r.Dir, func(o objectstore.Object) error {
		attempt := attemptOf(o.Key[len(r.Dir):])
		if attempt != "" && slices.Contains(r.Attempts, attempt) && !whole[attempt] {
			keys = append(keys, o.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := a.opts.Objects.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// attemptsWithManifest returns the attempts that manifests of the table's own archives name. It reads the
// manifests with numbers up to r.Generation or r.Tried, whichever is higher.
func (o *files) attemptsWithManifest(ctx context.Context, r *Record) (map[string]bool, error) {
	whole := map[string]bool{}
	numbers, err := o.generations(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		body, err := o.objects.Get(ctx, r.Dir+manifestName(n), 0, -1)
		if errors.Is(err, objectstore.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := parseManifest(body, r.Table.Name())
		if err != nil {
			continue // the object is not a manifest of an archive
		}
		whole[m.Attempt] = true
	}
	return whole, nil
}

func newAttempt() (string, error) {
	var b [attemptLength / 2]byte
	_, err := rand.Read(b[:])
	return hex.EncodeToString(b[:]), err
}

// contentError means that the stored objects are not a whole archive of the table. In that case, another
// archive can be written.
type contentError struct{ error }

func (e contentError) Unwrap() error { return e.error }

func isContent(err error) bool {
	var c contentError
	return errors.As(err, &c)
}
