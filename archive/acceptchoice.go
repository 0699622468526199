package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
)

// candidate is a stored manifest with readings of a table.
type candidate struct {
	manifest   *Manifest
	sum        string // checksum of the manifest
	dir        string
	merged     bool
	generation int        // number in the name of the manifest
	entry      TableEntry // counts of the table
}

func (c *candidate) key() string { return c.dir + manifestName(c.generation) }

// replaces reports whether the archive has replaced the recorded one because of erasures.
func (c *candidate) replaces(r *Record) bool {
	return slices.ContainsFunc(c.manifest.Replaces, func(e TableEntry) bool {
		return e.Table == r.Table.Name() && e.equals(r.Readings, r.Digest)
	})
}

// isReplaced reports whether another stored archive has replaced this one because of an erasure.
func (c *candidate) isReplaced(list []candidate) bool {
	return slices.ContainsFunc(list, func(other candidate) bool {
		return other.sum != c.sum && slices.ContainsFunc(other.manifest.Replaces, func(e TableEntry) bool {
			return e.Table == c.entry.Table && e.equals(c.entry.Readings, c.entry.Digest) && !c.entry.equals(other.entry.Readings, other.entry.Digest)
		})
	})
}

// mayFollow reports whether the archive may be accepted for a record. It may if the recorded archive is
// not complete. It also may if this archive has the same readings, has replaced the recorded one, or
// was written later. An earlier archive may still have readings that were erased since.
func (c *candidate) mayFollow(r *Record) bool {
	switch {
	case r.State != Archived, c.entry.equals(r.Readings, r.Digest), c.replaces(r):
		return true
	case c.merged:
		return c.manifest.Created.After(r.At)
	default:
		return c.generation > r.Generation
	}
}

// candidates returns the stored archives that may be accepted for a record, the latest first. The result
// "unread" has the manifests that cannot be read and may be later than the record.
func (a Acceptor) candidates(ctx context.Context, r *Record) (list []candidate, unread []OtherArchive, err error) {
	var keys []string
	err = a.opts.Objects.List(ctx, monthDir(r.Dir), func(o objectstore.Object) error {
		if generationOf(o.Key) > 0 && (path.Dir(o.Key)+"/" == r.Dir || mayHave(path.Dir(o.Key), r.Table)) {
			keys = append(keys, o.Key)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(keys)
	for _, key := range keys {
		c, err := a.readCandidate(ctx, key, r)
		switch {
		case err == nil:
			list = append(list, c)
		case errors.Is(err, errOtherTables):
		case !isAbsent(err):
			return nil, nil, err
		case r.mayPrecede(key):
			unread = append(unread, OtherArchive{Manifest: key, Problem: err.Error()})
		}
	}
	list = slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return c.isReplaced(list) || !c.mayFollow(r) })
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(b.manifest.Created.Compare(a.manifest.Created), cmp.Compare(b.generation, a.generation), strings.Compare(a.sum, b.sum))
	})
	return list, unread, nil
}

// mayPrecede reports whether a manifest that cannot be read may be later than the record.
func (r *Record) mayPrecede(key string) bool {
	switch {
	case r.State != Archived:
		return true
	case path.Dir(key)+"/" == r.Dir:
		return generationOf(key) > r.Generation
	default:
		return key != r.ManifestKey()
	}
}

var errOtherTables = errors.New("the merged archive lacks the table")

// readCandidate reads a manifest. It fails with a contentError if the manifest is not valid, and with
// errOtherTables if a merged archive lacks the table.
func (a Acceptor) readCandidate(ctx context.Context, key string, r *Record) (c candidate, err error) {
	body, err := a.opts.Objects.Get(ctx, key, 0, -1)
	if err != nil {
		return c, err
	}
	c = candidate{sum: objectstore.SumOf(body), dir: path.Dir(key) + "/", generation: generationOf(key)}
	name := NameOfMerged(c.dir)
	if c.manifest, err = parseManifest(body, name); err != nil {
		return c, contentError{err}
	}
	if c.dir == r.Dir {
		c.entry = c.manifest.total()
		return c, nil
	}
	c.merged = true
	if _, err := c.manifest.tables(); err != nil {
		return c, contentError{err}
	}
	entry := c.manifest.entryOf(r.Table)
	if c.generation != 1 || name != mergedPrefix+c.manifest.Attempt {
		return c, contentError{fmt.Errorf("%s is not the manifest of a merged archive", key)}
	}
	if entry == nil {
		return c, errOtherTables
	}
	c.entry = *entry
	return c, nil
}

// monthDir returns the key prefix that all archives of a class and arrival month share. The
// argument is the prefix of one of these archives.
func monthDir(dir string) string { return path.Dir(path.Dir(path.Clean(dir))) + "/" }

// mayHave reports whether a folder belongs to a merged archive whose range includes a table.
func mayHave(dir string, t grid.Table) bool {
	if !strings.HasPrefix(NameOfMerged(dir), mergedPrefix) {
		return false
	}
	_, span, _ := strings.Cut(path.Base(path.Dir(dir)), "range=")
	from, to, ok := strings.Cut(span, "-")
	w := t.Window()
	return ok && from <= w.From.Format("20060102") && w.To.Format("20060102") <= to
}

var manifestPattern = regexp.MustCompile(`^manifest(-[1-9][0-9]*)?\.json$`)

// generationOf returns the number in the name of a manifest. It returns 0 if the object is not a manifest, or
// if the number is so large that a later number might not fit into an int.
func generationOf(key string) int {
	found := manifestPattern.FindStringSubmatch(path.Base(key))
	if found == nil {
		return 0
	}
	if found[1] == "" {
		return 1
	}
	n, err := strconv.Atoi(found[1][1:])
	if err != nil || n > math.MaxInt/2 {
		return 0
	}
	return n
}

// registerMerged writes the record of a merged archive that a record points to, or that an acceptance has
// read. It removes tables from Merged.Kept once their records are past the state Writing. The argument
// "damaged" means that files may be damaged, and that a table gets an archive of its own with the
// readable readings.
func (a Acceptor) registerMerged(ctx context.Context, dir string, m *Manifest, damaged bool) error {
	now, found, err := a.catalog.getMerged(ctx, m.Table)
	if err != nil {
		return err
	}
	if !found {
		now = Merged{Name: m.Table, Dir: dir}
		if now.Tables, err = m.tables(); err != nil {
			return err
		}
		now.Kept = now.Tables
	}
	records, err := a.recordsOf(ctx, &now)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(now.Kept), func(t grid.Table) bool {
		return slices.ContainsFunc(records, func(r Record) bool { return r.Table == t && r.State != Writing })
	})
	if found && now.State == Archived && len(kept) == len(now.Kept) && now.Damaged == (now.Damaged || damaged) {
		return nil
	}
	now.Kept, now.Damaged = kept, now.Damaged || damaged
	return a.catalog.putMerged(ctx, &now, Archived)
}

// protectPointed protects the merged archive to which the present record points. If readings may be missing
// and the next record points elsewhere, it marks this archive as damaged. Then a merge does not delete it.
func (a Acceptor) protectPointed(ctx context.Context, p *Acceptance, next string) error {
	was := p.Record.Merged
	if was == "" || was == next || !p.Loses() {
		return nil
	}
	m, found, err := a.catalog.getMerged(ctx, NameOfMerged(was))
	if err != nil || !found || m.Damaged {
		return err
	}
	m.Damaged = true
	return a.catalog.putMerged(ctx, &m, m.State)
}

// registerPointed records the merged archive to which a record points, if the merged archive has no
// record. It also removes the table of the record from Merged.Kept.
func (a Acceptor) registerPointed(ctx context.Context, r *Record) error {
	if r.Merged == "" {
		return nil
	}
	m, found, err := a.catalog.getMerged(ctx, NameOfMerged(r.Merged))
	if err != nil || found && !slices.Contains(m.Kept, r.Table) {
		return err
	}
	manifest, err := a.files.manifest(ctx, r)
	if err != nil {
		return err
	}
	return a.registerMerged(ctx, r.Merged, manifest, false)
}

// acceptWhole makes the record describe a stored archive whose files are whole.
func (a Acceptor) acceptWhole(ctx context.Context, p *Acceptance) (Record, error) {
	c, next := &p.chosen, p.Record
	a.describe(&next, p, c.manifest, c.sum)
	if c.merged {
		next.Merged, next.Single = c.dir, false // so a merge does not delete the files of the table's own archives
		share := 1.0
		if c.manifest.Readings > 0 {
			share = float64(c.entry.Readings) / float64(c.manifest.Readings)
		}
		next.Bytes = int64(float64(c.manifest.Bytes()) * share)
	} else {
		next.Merged, next.Single, next.Generation = "", false, c.generation
	}
	named, highest, err := a.namedAttempts(ctx, &next)
	if err != nil {
		return p.Record, err
	}
	if c.merged {
		next.Generation = max(next.Generation, highest) // an erasure then also finds these archives of the table
	}
	next.Attempts = slices.DeleteFunc(slices.Clone(next.Attempts), func(attempt string) bool { return named[attempt] })
	if err := a.protectPointed(ctx, p, next.Merged); err != nil {
		return p.Record, err
	}
	if err := a.recheckHold(ctx, p); err != nil {
		return p.Record, err
	}
	if err := a.catalog.put(ctx, &next); err != nil {
		return p.Record, err
	}
	if c.merged {
		// The record is written first. A merged archive to which no record points may be deleted.
		return next, a.registerMerged(ctx, c.dir, c.manifest, false)
	}
	return next, nil
}

// namedAttempts returns the attempts that any stored manifest of the table's own archives names, and the highest
// number of a manifest.
func (a Acceptor) namedAttempts(ctx context.Context, r *Record) (named map[string]bool, highest int, err error) {
	last := *r
	err = a.opts.Objects.List(ctx, r.Dir, func(o objectstore.Object) error {
		if path.Dir(o.Key)+"/" == r.Dir {
			last.Generation = max(last.Generation, generationOf(o.Key))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	named, err = a.files.attemptsWithManifest(ctx, &last)
	return named, last.Generation, err
}

// describe sets the fields of a record that describe its archive.
func (a Acceptor) describe(r *Record, p *Acceptance, m *Manifest, sum string) {
	r.Accepted = p.Digest()
	r.State, r.Manifest, r.Digest, r.At = Archived, sum, p.digest, p.acceptedAt()
	r.Readings, r.Series, r.Bytes, r.Files = p.Readings, p.Series, m.Bytes(), int64(len(m.Files))
	r.Generation = max(r.Generation, 1)
}

var errUnstable = errors.New("the stored archive changed while it was read: retry later")
