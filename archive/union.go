package archive

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// stored is a whole archive with readings of a table.
type stored struct {
	manifest *Manifest
	dir      string
}

// recorded returns the archive that a record describes, or nil if it is missing or damaged. A further archive
// of the table must also have the readings of this one. The table may lack some of them, because it was
// recreated, or because expired readings were deleted.
func (o *files) recorded(ctx context.Context, r *Record) (*stored, error) {
	if r.State != Archived {
		return nil, nil
	}
	m, err := o.manifest(ctx, r)
	if err == nil {
		err = o.examine(ctx, m, r.FilesDir())
	}
	switch {
	case isAbsent(err):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return &stored{m, r.FilesDir()}, nil
	}
}

// job has the readings to archive: the readings of a table and of its recorded archive.
type job struct {
	in       *store.Info
	recorded *stored   // nil if the table has no whole archive
	begin    time.Time // start of the read of the table
}

// scan passes the readings of a job to a sink, in order and each one once. It returns the number of readings of
// the table.
func (j *job) scan(ctx context.Context, a *Archiver, to tablescan.Sink) (readings int64, err error) {
	t := j.in.Table
	add := tablescan.Sink{
		Part: func(p *block.Part) error {
			readings += int64(p.Len())
			return to.Part(p)
		},
		Reading: func(r *varve.Reading) error {
			readings++
			return to.Reading(r)
		},
	}
	if j.recorded == nil {
		err = a.scan(ctx, t, add)
		return readings, err
	}
	next, stop := iter.Pull2(a.files.readingsOf(ctx, j.recorded, t.Window()))
	defer stop()
	u := union{next: next, to: to.Reading}
	add.Reading = func(r *varve.Reading) error {
		readings++
		return u.add(r)
	}
	add.Part = func(p *block.Part) error {
		for k := range p.Len() {
			var r varve.Reading
			p.Fill(p.Row(k), &r)
			if err := add.Reading(&r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := u.advance(); err != nil {
		return 0, err
	}
	if err := a.scan(ctx, t, add); err != nil {
		return 0, err
	}
	for u.archived != nil {
		if err := u.passArchived(); err != nil {
			return 0, err
		}
	}
	return readings, nil
}

// readingsOf returns the readings of an archive in a window, in order. An error ends them.
func (o *files) readingsOf(ctx context.Context, of *stored, w varve.Window) iter.Seq2[*varve.Reading, error] {
	return func(yield func(*varve.Reading, error) bool) {
		errStopped := errors.New("stopped")
		err := o.eachBlockExactly(ctx, of.manifest, of.dir, func(b *block.Block) error {
			from, to := rowsIn(b, w)
			for i := from; i < to; i++ {
				var r varve.Reading
				if b.Fill(i, &r); !yield(&r, nil) {
					return errStopped
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// union merges the sorted readings of a table with the readings of its archive.
type union struct {
	next     func() (*varve.Reading, error, bool)
	archived *varve.Reading // the next reading of the archive; nil after the last one
	to       func(*varve.Reading) error
}

func (u *union) advance() error {
	r, err, _ := u.next()
	u.archived = r
	return err
}

func (u *union) passArchived() error {
	if err := u.to(u.archived); err != nil {
		return err
	}
	return u.advance()
}

// add passes a reading of the table, after all earlier ones of the archive. If both have the reading, add passes
// the archived one, because it was stored first.
func (u *union) add(r *varve.Reading) error {
	for u.archived != nil {
		order := cmp.Or(u.archived.Series.Compare(r.Series), u.archived.Position().Compare(r.Position()))
		if order > 0 {
			break
		}
		if err := u.passArchived(); err != nil || order == 0 {
			return err
		}
	}
	return u.to(r)
}

// mayHaveMore reports whether one of the table's own archives may have readings that the recorded archive
// lacks. For example, an archive of a recreated table may have replaced a damaged one.
func (o *files) mayHaveMore(ctx context.Context, r *Record) (bool, error) {
	numbers, err := o.generations(ctx, r)
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		body, err := o.objects.Get(ctx, r.Dir+manifestName(n), 0, -1)
		if errors.Is(err, objectstore.ErrMissing) {
			continue
		}
		if err != nil {
			return false, err
		}
		m, err := parseManifest(body, r.Table.Name())
		if err != nil {
			continue // the object belongs to another program, or deleteSingle fails
		}
		if total := m.total(); total.equals(r.Readings, r.Digest) {
			continue
		}
		if more, err := o.exceeds(ctx, &stored{m, r.Dir}, r); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// exceeds reports whether an archive has a series and day with other readings than the recorded archive, or
// whether its digests are missing or damaged.
func (o *files) exceeds(ctx context.Context, other *stored, r *Record) (bool, error) {
	m, err := o.manifest(ctx, r)
	if err != nil {
		return false, err
	}
	days, err := o.openDays(ctx, m, r.FilesDir())
	if err != nil {
		return false, err
	}
	w := r.Table.Window()
	days.only = &w
	expected, err := o.openDays(ctx, other.manifest, other.dir)
	if err != nil {
		if isAbsent(err) {
			return true, nil
		}
		return false, err
	}
	more := false
	diff := newDayDiff([]*expectedDays{expected}, func(found []parquetfile.DayDigest, got parquetfile.DayDigest) {
		more = more || len(found) > 0 && found[0] != got
	})
	err = days.passTo(diff)
	if err == nil {
		err = diff.end()
	}
	return more, err
}
