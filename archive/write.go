package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store/tablescan"
)

// write writes the files of an attempt with the readings of a job. It returns the manifest that describes them,
// and the number of readings of the table.
func (a *Archiver) write(ctx context.Context, r *Record, j *job, attempt string) (m *Manifest, readings int64, err error) {
	m, err = a.writeFrom(ctx, r.place(attempt), func(to tablescan.Sink) (err error) {
		readings, err = j.scan(ctx, a, to)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if a.opts.ExactCounts && readings != j.in.Readings {
		return nil, 0, fmt.Errorf("%d readings were read, and the table has %d: retry once nothing is written to it", readings, j.in.Readings)
	}
	return m, readings, nil
}

func (a *Archiver) scan(ctx context.Context, t grid.Table, to tablescan.Sink) error {
	_, err := a.scanner.Scan(ctx, t, to)
	return err
}

// place has the name and class of an archive, and the key prefix and attempt of its new files.
type place struct {
	name    string // name of the table or of the merged archive
	class   string
	dir     string
	attempt string
	tables  []grid.Table // tables of a merged archive, in the order of their event ranges; nil for other archives
	// replaces counts the tables in archives that erasures have replaced: see Manifest.Replaces.
	replaces []TableEntry
}

func (r *Record) place(attempt string) place {
	return place{name: r.Table.Name(), class: r.Class, dir: r.Dir, attempt: attempt}
}

// writeFrom writes the files of an attempt. The function "scan" passes the readings, sorted by
// series and position.
func (a *Archiver) writeFrom(ctx context.Context, at place, scan func(to tablescan.Sink) error) (*Manifest, error) {
	m := &Manifest{Version: ManifestVersion, Schema: parquetfile.SchemaVersion, Table: at.name, Class: at.class, Attempt: at.attempt, Created: a.opts.Now().UTC(), Files: []FileEntry{}, Replaces: at.replaces}
	put := func(name string, body []byte) (FileEntry, error) {
		if err := a.files.putNew(ctx, at.dir+name, body); err != nil {
			return FileEntry{}, fmt.Errorf("write %s: %w", name, err)
		}
		return FileEntry{Name: name, Size: int64(len(body)), SHA256: objectstore.SumOf(body)}, nil
	}
	builder := parquetfile.NewBuilder(parquetfile.Options{
		Table: at.name, GroupRows: a.opts.GroupRows, MaxBytes: a.opts.FileBytes,
		Put: func(f parquetfile.File) error {
			entry, err := put(partName(at.attempt, len(m.Files)), f.Body)
			entry.describe(&f)
			m.Files = append(m.Files, entry)
			return err
		},
	})
	days := parquetfile.NewDigestWriter()
	count := tally{emit: days.Add, tables: newTableCounts(at.tables)}
	rest, single := a.files.newRest(), 0
	err := scan(tablescan.Sink{
		Part: func(p *block.Part) error {
			if err := count.addPart(p); err != nil {
				return err
			}
			rest()
			return builder.AddPart(p)
		},
		Reading: func(rd *varve.Reading) error {
			if err := count.addReading(rd); err != nil {
				return err
			}
			if single++; single%restEvery == 0 {
				rest()
			}
			return builder.Add(rd)
		},
	})
	if err != nil {
		return nil, err
	}
	total, err := count.end()
	if err != nil {
		return nil, err
	}
	if err := builder.Close(); err != nil {
		return nil, err
	}
	body, rows, err := days.Close()
	if err != nil {
		return nil, err
	}
	if m.Digests, err = put(digestsName(at.attempt), body); err != nil {
		return nil, err
	}
	m.Digests.Rows = rows
	m.Readings, m.Series, m.Digest = total.Readings, total.Series, digestText(total.Digest)
	m.Tables = count.tables.entries()
	return m, nil
}

// putNew writes an object. If an object with the key exists, putNew succeeds only if that object has the
// same bytes. So a client that repeats a request after a lost answer accepts its own object.
func (o *files) putNew(ctx context.Context, key string, body []byte) error {
	err := o.objects.PutNew(ctx, key, body)
	if !errors.Is(err, objectstore.ErrExists) {
		return err
	}
	stored, bad := o.objects.Stat(ctx, key)
	if bad != nil || stored.Size != int64(len(body)) || stored.SHA256 != objectstore.SumOf(body) {
		return errors.Join(err, bad)
	}
	return nil
}

// putManifest writes a manifest and reads it back. It fails with ErrExists if another manifest exists.
func (o *files) putManifest(ctx context.Context, key string, body []byte) error {
	if err := o.putNew(ctx, key, body); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	stored, err := o.objects.Get(ctx, key, 0, -1)
	if err != nil {
		return fmt.Errorf("read manifest back: %w", err)
	}
	if objectstore.SumOf(stored) != objectstore.SumOf(body) {
		return errors.New("the manifest differs from the one that was written")
	}
	return nil
}

// digestText formats a digest as 16 hexadecimal digits.
func digestText(d uint64) string { return fmt.Sprintf("%016s", strconv.FormatUint(d, 16)) }

func (m *Manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", " ")
	return append(body, '\n'), err
}
