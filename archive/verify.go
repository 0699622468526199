package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// Verify reads all files of an archive and compares them with the manifest. It decodes every reading,
// and compares the count and the digest of each series and day.
func (a *Archiver) Verify(ctx context.Context, r *Record) error {
	if r.State != Archived {
		return fmt.Errorf("archive of %s: it is not complete: archive the table again", r.Table)
	}
	m, err := a.files.manifest(ctx, r)
	if err == nil {
		err = a.files.verify(ctx, m, r.FilesDir())
	}
	if err != nil {
		return fmt.Errorf("archive of %s: %w", r.Table, err)
	}
	return nil
}

// manifest reads the manifest of a record, and compares its checksum with the record.
func (o *files) manifest(ctx context.Context, r *Record) (*Manifest, error) {
	body, err := o.objects.Get(ctx, r.ManifestKey(), 0, -1)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.ManifestKey(), err)
	}
	if objectstore.SumOf(body) != r.Manifest {
		return nil, contentError{fmt.Errorf("%s has changed", r.ManifestKey())}
	}
	m, err := r.parse(body)
	if err != nil {
		return nil, contentError{err}
	}
	return m, nil
}

// parse parses the manifest of a record. A merged archive must have the readings of the record's table.
func (r *Record) parse(body []byte) (*Manifest, error) {
	if r.Merged == "" {
		return parseManifest(body, r.Table.Name())
	}
	m, err := parseManifest(body, NameOfMerged(r.Merged))
	if err != nil {
		return nil, err
	}
	return m, r.checkEntry(m)
}

// checkEntry fails unless a merged archive has the readings of the record.
func (r *Record) checkEntry(m *Manifest) error {
	switch e := m.entryOf(r.Table); {
	case e == nil:
		return fmt.Errorf("merged archive %s lacks table %s", m.Table, r.Table)
	case e.Readings != r.Readings || e.Digest != r.Digest:
		return fmt.Errorf("merged archive %s has other readings of table %s", m.Table, r.Table)
	default:
		return nil
	}
}

// Check compares the objects of an archive with its record, without reading them all. It fails unless the
// archive is whole. It also fails if the table and the archive must be compared once more. This is so if the
// table was retired after the last comparison, Record.At is in the future, or the exact counts differ.
func (a *Archiver) Check(ctx context.Context, r *Record, in *store.Info) error {
	switch {
	case r.State != Archived:
		return errors.New("not archived yet")
	case !in.Retired.IsZero() && r.At.Before(in.Retired):
		return errors.New("archived before it was retired, and not compared since")
	case r.At.After(a.opts.Now()):
		return errors.New("archived at a time in the future: the clock was wrong, and readings may have been written since")
	case a.opts.ExactCounts && !r.Matches(in.Readings):
		return fmt.Errorf("its archive has %d readings, and the table %d", r.Readings, in.Readings)
	}
	m, err := a.files.manifest(ctx, r)
	if err != nil {
		return err
	}
	return a.files.examine(ctx, m, r.FilesDir())
}

// examine compares the sizes and checksums of all files with the manifest.
func (o *files) examine(ctx context.Context, m *Manifest, dir string) error {
	for _, f := range m.allFiles() {
		if err := o.examineFile(ctx, &f, dir); err != nil {
			return err
		}
	}
	return nil
}

func (o *files) examineFile(ctx context.Context, f *FileEntry, dir string) error {
	switch stored, err := o.objects.Stat(ctx, dir+f.Name); {
	case err != nil:
		return fmt.Errorf("examine %s: %w", dir+f.Name, err)
	case stored.Size != f.Size:
		return contentError{fmt.Errorf("%s has %d bytes, want %d", dir+f.Name, stored.Size, f.Size)}
	case stored.SHA256 != f.SHA256:
		return contentError{fmt.Errorf("the checksum of %s differs", dir+f.Name)}
	default:
		return nil
	}
}

// verify reads all files back and recounts them.
func (o *files) verify(ctx context.Context, m *Manifest, dir string) error {
	days, err := o.openDays(ctx, m, dir)
	if err != nil {
		return err
	}
	counts, err := tableCountsOf(m)
	if err != nil {
		return contentError{err}
	}
	count := tally{emit: days.expect, tables: counts}
	err = o.eachBlock(ctx, m, dir, func(b *block.Block) error {
		if err := count.addPart(&block.Part{Block: b, From: 0, To: b.Len()}); err != nil {
			return contentError{err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := days.end(m.total(), m.Digests.Rows, &count); err != nil {
		return err
	}
	if !slices.Equal(counts.entries(), m.Tables) {
		return contentError{fmt.Errorf("the tables have %+v, the manifest has %+v", counts.entries(), m.Tables)}
	}
	return nil
}

// compare compares the readings of a job with the digests of an archive, and recounts its files. It returns the
// number of readings of the table.
func (a *Archiver) compare(ctx context.Context, with *stored, j *job) (readings int64, err error) {
	if err := a.files.verify(ctx, with.manifest, with.dir); err != nil {
		return 0, err
	}
	if j.recorded == nil || j.recorded.manifest.Attempt == with.manifest.Attempt {
		alone := job{in: j.in} // usually, the table equals its recorded archive
		if readings, err = alone.compareDays(ctx, a, with); !isContent(err) || j.recorded == nil {
			return readings, err
		}
	}
	return j.compareDays(ctx, a, with)
}

func (j *job) compareDays(ctx context.Context, a *Archiver, with *stored) (readings int64, err error) {
	days, err := a.files.openDays(ctx, with.manifest, with.dir)
	if err != nil {
		return 0, err
	}
	count := tally{emit: days.expect}
	if readings, err = j.scan(ctx, a, tablescan.Sink{Part: count.addPart, Reading: count.addReading}); err != nil {
		return 0, err
	}
	return readings, days.end(with.manifest.total(), with.manifest.Digests.Rows, &count)
}

func (o *files) openDays(ctx context.Context, m *Manifest, dir string) (*expectedDays, error) {
	body, err := o.readFile(ctx, &m.Digests, dir)
	if err != nil {
		return nil, err
	}
	r, err := parquetfile.OpenDigests(body)
	if err != nil {
		return nil, contentError{err}
	}
	return &expectedDays{reader: r}, nil
}

// expectedDays compares counted series and days with the digests of an archive, in order.
type expectedDays struct {
	reader *parquetfile.DigestReader
	only   *varve.Window // if set, days outside of it are skipped
	rows   int64
}

// next returns the next series and day of the archive, or false after the last one.
func (e *expectedDays) next() (parquetfile.DayDigest, bool, error) {
	for {
		d, ok, err := e.reader.Next()
		if !ok || err != nil || e.only == nil || e.only.Contains(time.Unix(int64(d.Day)*24*3600, 0)) {
			return d, ok, err
		}
	}
}

// expect compares a counted series and day with the next series and day of the archive.
func (e *expectedDays) expect(d parquetfile.DayDigest) error {
	want, ok, err := e.next()
	switch {
	case err != nil:
		return contentError{err}
	case !ok:
		return contentError{fmt.Errorf("series %s, day %d: the archive lacks it", d.Series, d.Day)}
	case d != want:
		return contentError{fmt.Errorf("series %s, day %d: %d readings with digest %x, the archive has series %s, day %d: %d readings with digest %x",
			d.Series, d.Day, d.Readings, d.Digest, want.Series, want.Day, want.Readings, want.Digest)}
	}
	e.rows++
	return nil
}

// end compares the last day and the totals, and fails if the archive has further days. If the
// argument "rows" is negative, the number of days is not compared.
func (e *expectedDays) end(want TableEntry, rows int64, count *tally) error {
	total, err := count.end()
	if err != nil {
		return err
	}
	if d, ok, err := e.next(); ok || err != nil {
		return contentError{errors.Join(fmt.Errorf("series %s, day %d: only the archive has it", d.Series, d.Day), err)}
	}
	if total.entry(want.Table) != want || rows >= 0 && e.rows != rows {
		return contentError{fmt.Errorf("%d readings of %d series, the manifest has %d of %d", total.Readings, total.Series, want.Readings, want.Series)}
	}
	return nil
}

// readFile reads a whole file, and compares its size and checksum.
func (o *files) readFile(ctx context.Context, f *FileEntry, dir string) ([]byte, error) {
	body, err := o.objects.Get(ctx, dir+f.Name, 0, -1)
	switch {
	case errors.Is(err, objectstore.ErrMissing):
		return nil, contentError{fmt.Errorf("%s: %w", dir+f.Name, err)}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", dir+f.Name, err)
	case int64(len(body)) != f.Size:
		return nil, contentError{fmt.Errorf("%s has %d bytes, want %d", dir+f.Name, len(body), f.Size)}
	case objectstore.SumOf(body) != f.SHA256:
		return nil, contentError{fmt.Errorf("the checksum of %s differs", dir+f.Name)}
	}
	return body, nil
}

// decodeAhead is the number of row groups that are decoded while others are counted.
const decodeAhead = 2

// eachBlock reads and decodes all files of an archive, and passes the readings to the function
// "each", in order.
func (o *files) eachBlock(ctx context.Context, m *Manifest, dir string, each func(*block.Block) error) error {
	g, ctx := errgroup.WithContext(ctx)
	decoded := make(chan []*block.Block, decodeAhead)
	g.Go(func() error {
		defer close(decoded)
		for i := range m.Files {
			if err := o.decodeFile(ctx, &m.Files[i], m, dir, decoded); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		rest := o.newRest()
		for blocks := range decoded {
			for _, b := range blocks {
				if err := each(b); err != nil {
					return err
				}
				rest()
			}
		}
		return nil
	})
	return g.Wait()
}

// decodeFile reads one file, and sends the blocks of each row group to decoded.
func (o *files) decodeFile(ctx context.Context, f *FileEntry, m *Manifest, dir string, decoded chan<- []*block.Block) error {
	rd, err := o.openFile(ctx, f, m, dir)
	if err != nil {
		return err
	}
	for i := range rd.Groups() {
		blocks, err := rd.ReadGroup(i, false)
		if err != nil {
			return contentError{fmt.Errorf("%s: %w", dir+f.Name, err)}
		}
		select {
		case decoded <- blocks:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// openFile reads a whole file, opens it, and compares its rows and its table with the manifest.
func (o *files) openFile(ctx context.Context, f *FileEntry, m *Manifest, dir string) (*parquetfile.Reader, error) {
	body, err := o.readFile(ctx, f, dir)
	if err != nil {
		return nil, err
	}
	rd, err := parquetfile.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, contentError{fmt.Errorf("%s: %w", dir+f.Name, err)}
	}
	if rd.Rows() != f.Rows || rd.Table() != m.Table {
		return nil, contentError{fmt.Errorf("%s has %d rows of table %s, want %d of %s", dir+f.Name, rd.Rows(), rd.Table(), f.Rows, m.Table)}
	}
	return rd, nil
}
