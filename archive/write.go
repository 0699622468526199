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
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
)

// write writes the files of an attempt from a table, and returns the manifest that describes them.
func (a *Archiver) write(ctx context.Context, r *Record, in *store.Info, attempt string) (*Manifest, error) {
	m, err := a.writeFrom(ctx, r, attempt, func(to tablescan.Sink) error { return a.scan(ctx, in.Table, to) })
	if err != nil {
		return nil, err
	}
	if a.opts.ExactCounts && m.Readings != in.Readings {
		return nil, fmt.Errorf("%d readings were read, and the table has %d: retry once nothing is written to it", m.Readings, in.Readings)
	}
	return m, nil
}

// scan passes all readings of a table to a sink.
func (a *Archiver) scan(ctx context.Context, t grid.Table, to tablescan.Sink) error {
	_, err := a.scanner.Scan(ctx, t, to)
	return err
}

// writeFrom writes the files of an attempt. The function scan passes the readings, sorted by series and
// position.
func (a *Archiver) writeFrom(ctx context.Context, r *Record, attempt string, scan func(to tablescan.Sink) error) (*Manifest, error) {
	m := &Manifest{Version: ManifestVersion, Schema: parquetfile.SchemaVersion, Table: r.Table.Name(), Class: r.Class, Attempt: attempt, Created: a.opts.Now().UTC(), Files: []FileEntry{}}
	put := func(name string, body []byte) (FileEntry, error) {
		if err := a.files.putNew(ctx, r.Dir+name, body); err != nil {
			return FileEntry{}, fmt.Errorf("write %s: %w", name, err)
		}
		return FileEntry{Name: name, Size: int64(len(body)), SHA256: objectstore.SumOf(body)}, nil
	}
	builder := parquetfile.NewBuilder(parquetfile.Options{
		Table: r.Table.Name(), GroupRows: a.opts.GroupRows, MaxBytes: a.opts.FileBytes,
		Put: func(f parquetfile.File) error {
			entry, err := put(partName(attempt, len(m.Files)), f.Body)
			entry.describe(&f)
			m.Files = append(m.Files, entry)
			return err
		},
	})
	days := parquetfile.NewDigestWriter()
	count := tally{emit: days.Add}
	err := scan(tablescan.Sink{
		Part: func(p *block.Part) error {
			if err := count.addPart(p); err != nil {
				return err
			}
			return builder.AddPart(p)
		},
		Reading: func(rd *varve.Reading) error {
			if err := count.addReading(rd); err != nil {
				return err
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
	if m.Digests, err = put(digestsName(attempt), body); err != nil {
		return nil, err
	}
	m.Digests.Rows = rows
	m.Readings, m.Series, m.Digest = total.Readings, total.Series, digestText(total.Digest)
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

// digestText formats a digest as 16 hexadecimal digits.
func digestText(d uint64) string { return fmt.Sprintf("%016s", strconv.FormatUint(d, 16)) }

// encode returns the text of a manifest.
func (m *Manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", " ")
	return append(body, '\n'), err
}
