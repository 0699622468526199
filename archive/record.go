package archive

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// RecordsPK is the partition of the registry with the records of archives.
const RecordsPK = "ARCHIVE"

// Attributes of a record.
const (
	attrState      = "state"
	attrClass      = "class"
	attrAttempts   = "attempts"
	attrDir        = "dir"
	attrGeneration = "generation"
	attrTried      = "tried"
	attrManifest   = "manifest"
	attrReadings   = "readings"
	attrBeyond     = "beyond"
	attrSeries     = "series"
	attrBytes      = "bytes"
	attrFiles      = "files"
	attrDigest     = "digest"
	attrAt         = "at"
	attrHold       = "hold"
	attrMerged     = "merged"
	attrSingle     = "single"
	attrAccepted   = "accepted"
	attrVersion    = "version"
)

// State is the state of an archive.
type State string

// States of an archive.
const (
	Writing  State = "writing"  // files are being written, or a process died while it wrote them
	Archived State = "archived" // the files were read back and recounted
	Expiring State = "expiring" // the files are being deleted
)

// Record describes the archive of a table, in the registry.
type Record struct {
	Table    grid.Table
	State    State
	Class    string
	Dir      string   // prefix of the keys of the table's own objects
	Attempts []string // attempts that may have left files without a manifest
	Hold     string   // reason of the hold on the archive; "" means no hold

	// Merged is the prefix of the merged archive that has the readings of the table. It is "" if the
	// table has an archive of its own.
	Merged string
	// Single means that the archive is merged, and that the files of the table's own one may still exist.
	Single bool
	// Accepted is the digest of the last plan that was accepted: see Acceptor.Accept.
	Accepted string

	// The fields below describe the archive. All but Generation and Tried are set once the table is archived.
	Generation int       // number in the name of the manifest of the table's own archive
	Tried      int       // highest number of a manifest that an attempt may have written; 0 if it is not above Generation
	Manifest   string    // checksum of the manifest
	Digest     string    // digest of all readings
	Readings   int64     // number of distinct readings
	Beyond     int64     // number of readings that the table lacked when it was last compared with its archive
	Series     int64     // number of series
	Bytes      int64     // size of all files; for a merged archive, the table's share by its number of readings
	Files      int64     // number of files with readings
	At         time.Time // start of the last read that found the table equal to its archive; see Acceptance.acceptedAt

	version int64
}

// Matches reports whether a table with this number of readings may equal the table that was compared last.
func (r *Record) Matches(readings int64) bool { return readings+r.Beyond == r.Readings }

// ManifestKey returns the key of the manifest.
func (r *Record) ManifestKey() string {
	if r.Merged != "" {
		return r.Merged + manifestName(1)
	}
	return r.singleKey()
}

// singleKey returns the key of the manifest of the table's own archive.
func (r *Record) singleKey() string { return r.Dir + manifestName(r.Generation) }

// FilesDir returns the prefix of the keys of the files that have the readings of the table.
func (r *Record) FilesDir() string { return cmp.Or(r.Merged, r.Dir) }

// Catalog has the records of archives in the registry.
type Catalog struct{ Items store.Items }

func recordKey(t grid.Table) store.Key { return store.Key{PK: RecordsPK, SK: t.Name()} }

// Get returns the record of a table, or false if it has none.
func (c Catalog) Get(ctx context.Context, t grid.Table) (Record, bool, error) {
	items, err := c.Items.Get(ctx, []store.Key{recordKey(t)}, true)
	if err != nil || len(items) == 0 {
		return Record{Table: t}, false, err
	}
	r, err := parseRecord(&items[0])
	return r, err == nil, err
}

// List returns all records, ordered by the names of the tables.
func (c Catalog) List(ctx context.Context) (records []Record, err error) {
	for it, err := range registry.All(ctx, c.Items, store.ItemQuery{PK: RecordsPK, Consistent: true}) {
		if err != nil {
			return nil, fmt.Errorf("list archives: %w", err)
		}
		r, err := parseRecord(it)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// put writes a record, unless another process has changed it since it was read.
func (c Catalog) put(ctx context.Context, r *Record) error {
	cond := store.IfAbsent()
	if r.version > 0 {
		cond = store.IfEquals(attrVersion, varve.IntValue(r.version))
	}
	next := *r
	next.version++
	if err := c.Items.Put(ctx, next.item(), cond); err != nil {
		return fmt.Errorf("write record of archive %s: %w", r.Table, err)
	}
	r.version = next.version
	return nil
}

// delete removes a record, unless another process has changed it since it was read.
func (c Catalog) delete(ctx context.Context, r *Record) error {
	return c.Items.Delete(ctx, recordKey(r.Table), store.IfEquals(attrVersion, varve.IntValue(r.version)))
}

func (r *Record) item() store.Item {
	attrs := map[string]varve.Value{
		attrState: varve.StringValue(string(r.State)), attrGeneration: varve.IntValue(int64(r.Generation)),
		attrReadings: varve.IntValue(r.Readings), attrSeries: varve.IntValue(r.Series), attrBytes: varve.IntValue(r.Bytes),
		attrFiles: varve.IntValue(r.Files), attrVersion: varve.IntValue(r.version),
	}
	registry.PutText(attrs, attrClass, r.Class)
	registry.PutText(attrs, attrDir, r.Dir)
	registry.PutText(attrs, attrAttempts, strings.Join(r.Attempts, " "))
	registry.PutText(attrs, attrManifest, r.Manifest)
	registry.PutText(attrs, attrDigest, r.Digest)
	registry.PutText(attrs, attrHold, r.Hold)
	registry.PutText(attrs, attrMerged, r.Merged)
	registry.PutText(attrs, attrAccepted, r.Accepted)
	registry.PutTime(attrs, attrAt, r.At)
	if r.Tried > r.Generation {
		attrs[attrTried] = varve.IntValue(int64(r.Tried))
	}
	if r.Beyond != 0 {
		attrs[attrBeyond] = varve.IntValue(r.Beyond)
	}
	if r.Single {
		attrs[attrSingle] = varve.IntValue(1)
	}
	return store.Item{Key: recordKey(r.Table), Attrs: attrs}
}

func parseRecord(it *store.Item) (Record, error) {
	t, ok := grid.Parse(it.SK)
	if !ok {
		return Record{}, fmt.Errorf("record of archive %s: not the name of a table", strconv.Quote(it.SK))
	}
	rd := registry.NewReader(it)
	n := func(name string) int64 { return registry.Int(it.Attrs[name]) }
	r := Record{
		Table: t, State: State(rd.Text(attrState)), Class: rd.Text(attrClass), Dir: rd.Text(attrDir), Attempts: strings.Fields(rd.Text(attrAttempts)),
		Generation: int(n(attrGeneration)), Tried: int(n(attrTried)), Manifest: rd.Text(attrManifest), Digest: rd.Text(attrDigest),
		Readings: n(attrReadings), Beyond: n(attrBeyond), Series: n(attrSeries), Bytes: n(attrBytes), Files: n(attrFiles), At: rd.Time(attrAt), Hold: rd.Text(attrHold), version: n(attrVersion),
		Merged: rd.Text(attrMerged), Single: n(attrSingle) == 1, Accepted: rd.Text(attrAccepted),
	}
	return r, rd.Err()
}
