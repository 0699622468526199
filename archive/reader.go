package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/internal/cache"
	"github.com/varvedb/varve/internal/turns"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

const (
	// knownBytes is the maximum size of the manifests and footers in memory.
	knownBytes = 16 << 20
	// fetchBytes is the size up to which one request reads several adjacent row groups, or row groups
	// and the footer.
	fetchBytes = 1 << 20
	// fetchRows bounds the rows that one request reads, because all of them may be of one series.
	fetchRows = 2 * parquetfile.GroupRows
	// fetchedBytes is the maximum size of the row groups that all reads fetch at the same time. It also bounds the
	// row groups that they decode at the same time.
	fetchedBytes = 64 << 20
)

// Reader reads series from archives, by ranges of their files. Each range is compared with its
// checksum in the manifest, and the manifest with its checksum in the record. It is safe for
// concurrent use.
type Reader struct {
	objects  objectstore.Store
	catalog  Catalog
	known    *cache.Cache[string, any] // manifests by checksum: *Manifest; footers by checksum: []byte
	fetching *semaphore.Weighted       // limits the bytes that are fetched at the same time
	decoding *semaphore.Weighted       // limits the bytes that are decoded at the same time; acquired after fetching

	decodedBytes int64 // see the constant decodedBytes

	requests, bytes atomic.Int64
}

// NewReader returns a reader of the archives of an Archiver.
func NewReader(a *Archiver) *Reader {
	return &Reader{
		objects: a.opts.Objects, catalog: a.catalog, known: cache.New[string, any](cache.Limits{Size: knownBytes}),
		fetching: semaphore.NewWeighted(fetchedBytes), decoding: semaphore.NewWeighted(fetchedBytes),
		decodedBytes: decodedBytes,
	}
}

// ReadStats counts the requests of a Reader to the object store.
type ReadStats struct{ Requests, Bytes int64 }

// Stats returns the counts of requests so far.
func (r *Reader) Stats() ReadStats {
	return ReadStats{Requests: r.requests.Load(), Bytes: r.bytes.Load()}
}

// List returns the records of whole archives whose tables have one of the prefixes and overlap the
// window. It includes each table with readings that was archived before the call.
func (r *Reader) List(ctx context.Context, prefixes []string, w varve.Window) ([]Record, error) {
	records, err := r.catalog.List(ctx)
	return slices.DeleteFunc(records, func(rec Record) bool {
		return rec.State != Archived || rec.Readings == 0 || !slices.Contains(prefixes, rec.Table.Prefix) || !rec.Table.Overlaps(w)
	}), err
}

// Open returns a reader of a range of an archived table. It makes no request before Next. Limit,
// Consistent and Layout of the range are ignored.
func (r *Reader) Open(rec *Record, rng store.Range) *SeriesReader {
	return r.Share().Open(rec, rng)
}

// Estimate returns the number of requests that a complete read of a range needs. It reads the
// manifest.
func (r *Reader) Estimate(ctx context.Context, rec *Record, rng store.Range) (requests int, err error) {
	return r.Share().Estimate(ctx, rec, rng)
}

func changedError(key string, at *RangeEntry) error {
	return contentError{fmt.Errorf("%s has changed: bytes %d to %d differ", nameOf(key), at.Offset, at.end()-1)}
}

// count adds a request to the counts of s and of its Reader.
func (s *SeriesReader) count() {
	s.requests.Add(1)
	s.reader.requests.Add(1)
}

func (s *SeriesReader) fetch(ctx context.Context, key string, offset, size int64) ([]byte, error) {
	r := s.reader
	s.count()
	body, err := r.objects.Get(ctx, key, offset, size)
	r.bytes.Add(int64(len(body)))
	switch {
	case errors.Is(err, objectstore.ErrMissing):
		return nil, contentError{fmt.Errorf("%s is missing", nameOf(key))}
	case err == nil:
		return body, nil
	}
	// If the object ends before the range does, it is damaged, and the error is a contentError. Otherwise
	// the object could not be read, and a retry may succeed.
	s.count()
	if o, bad := r.objects.Stat(ctx, key); bad == nil && o.Size < offset+size {
		return nil, contentError{fmt.Errorf("%s has %d bytes, want at least %d", nameOf(key), o.Size, offset+size)}
	}
	return nil, fmt.Errorf("read %s: %w", nameOf(key), err)
}

// nameOf returns the last part of a key.
func nameOf(key string) string {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] == '/' {
			return key[i+1:]
		}
	}
	return key
}

func (s *SeriesReader) manifest(ctx context.Context) (*Manifest, error) {
	r, rec := s.reader, &s.record
	if m, ok := r.known.Get(rec.Manifest); ok {
		return m.(*Manifest), nil
	}
	key := rec.ManifestKey()
	var body []byte
	err := turns.Pause(ctx, func() (err error) {
		body, err = s.fetch(ctx, key, 0, -1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if objectstore.SumOf(body) != rec.Manifest {
		return nil, contentError{fmt.Errorf("%s has changed", nameOf(key))}
	}
	m, err := rec.parse(body)
	if err != nil {
		return nil, contentError{err}
	}
	for i := range m.Files {
		if f := &m.Files[i]; len(f.Groups) == 0 {
			return nil, contentError{fmt.Errorf("%s does not describe the row groups of %s", nameOf(key), f.Name)}
		}
	}
	r.remember(rec.Manifest, m, len(body))
	return m, nil
}

func (r *Reader) remember(sum string, value any, size int) {
	r.known.PutSince(r.known.Drops(), time.Now(), sum, value, size)
}

// problem converts the error of a read into an error for clients. If the archive was replaced or deleted
// during the query, missing or different content is not damage: the error is varve.Unavailable.
func (s *SeriesReader) problem(ctx context.Context, err error) error {
	if isContent(err) {
		now, found, failed := s.reader.catalog.Get(ctx, s.record.Table)
		if failed == nil && (!found || now.State != Archived || now.Manifest != s.record.Manifest) {
			return varve.Errorf(varve.Unavailable, "archive of table %s: it was replaced or deleted during the query: retry", s.record.Table)
		}
	}
	return s.record.problem(err)
}

// problem converts the error of a read into an error for clients. If the content differs from the archived one, the
// result has the failure varve.Damaged. After all other failures, a retry may succeed.
func (r *Record) problem(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isContent(err):
		return &varve.Error{Failure: varve.Damaged, Message: fmt.Sprintf(
			"archive of table %s: %s: check it with varve archive verify, and copy the file back from a backup, or omit archive", r.Table, err), Err: store.ErrDamaged}
	default:
		return &varve.Error{Failure: varve.Unavailable, Message: fmt.Sprintf("archive of table %s: retry later", r.Table), Err: err}
	}
}
