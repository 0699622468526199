package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/meta"
	"github.com/varvedb/varve/store/local/sst"
)

// keySpan is a range of keys to be replaced, inclusive at both ends.
type keySpan struct{ first, last []byte }

// repairer replaces damaged ranges of the files that Pebble currently uses.
type repairer struct {
	db    *database
	parts []part
	files map[uint64]*examined
	lost  []lost // the lost ranges that were recorded so far
	made  int    // number of spans for which files were written; the names of the files contain it
}

// examined is the result of reading a file.
type examined struct {
	file   *sst.File // nil if the whole file is unreadable
	err    error     // the reason, if the whole file is unreadable
	extent sst.Extent
	rest   error // damage outside of the entries
}

func (r *repairer) close() error {
	var errs []error
	for _, e := range r.files {
		if e.file != nil {
			errs = append(errs, e.file.Close())
		}
	}
	return errors.Join(errs...)
}

// examine reads the whole file of a part, once.
func (r *repairer) examine(p *part) (*examined, error) {
	if e := r.files[p.number]; e != nil {
		return e, nil
	}
	e, err := examineFile(r.db.folder.fs, r.db.folder.path("pebble", fileName(p.number)), r.db.options)
	if err != nil {
		return nil, err
	}
	if e.file != nil && !p.virtual && !e.fits(p) {
		err := e.file.Close()
		*e = examined{err: errors.New("it is not the file that was written under this name")}
		if err != nil {
			return nil, err
		}
	}
	r.files[p.number] = e
	return e, nil
}

// fits reports whether a file has the recorded size of a part, and only keys within the range of the part.
// Otherwise it is another file with the same name.
func (e *examined) fits(p *part) bool {
	inside := e.extent.First == nil || bytes.Compare(p.first, e.extent.First) <= 0 && bytes.Compare(e.extent.Last, p.last) <= 0
	return inside && uint64(e.file.Size()) == p.size
}

func examineFile(disk vfs.FS, path string, o *pebble.Options) (*examined, error) {
	file, err := sst.Open(disk, path, o)
	switch {
	case pebble.IsCorruptionError(err), errors.Is(err, fs.ErrNotExist):
		return &examined{err: err}, nil
	case err != nil:
		return nil, err
	}
	e := &examined{file: file, rest: file.CheckRest()}
	if e.extent, err = file.Extent(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return e, nil
}

// lostOf returns the lost ranges of a part, and the spans to be replaced for them. A span includes the
// last intact key before the damage and the first one after it, so that no later read touches the
// damage. At an end of the part without such a key, the span ends where the part ends.
func (r *repairer) lostOf(p *part) (ranges []lost, spans []keySpan, err error) {
	e, err := r.examine(p)
	if err != nil {
		return nil, nil, err
	}
	record := lost{From: p.first, To: p.end, File: fileName(p.number), Found: r.db.opts.Now().UTC()}
	if e.file == nil {
		record.Reason = e.err.Error()
		return []lost{record}, []keySpan{{p.first, p.last}}, nil
	}
	for _, g := range e.extent.Holes {
		if g.Before != nil && bytes.Compare(g.Before, p.first) <= 0 || g.After != nil && bytes.Compare(g.After, p.last) >= 0 {
			continue
		}
		l, sp := record, keySpan{p.first, p.last}
		l.Reason = g.Err.Error()
		if g.After != nil && bytes.Compare(g.After, p.first) >= 0 {
			l.From, sp.first = next(g.After), g.After
		}
		if g.Before != nil && bytes.Compare(g.Before, p.last) <= 0 {
			l.To, sp.last = g.Before, g.Before
		}
		ranges, spans = append(ranges, l), append(spans, sp)
	}
	if e.rest != nil {
		spans = []keySpan{{p.first, p.last}} // the whole part is rewritten
	}
	return ranges, spans, nil
}

// spansOf returns the spans to be replaced for a file. Each span also includes all damage in other
// files that the span touches.
func (r *repairer) spansOf(number uint64) ([]keySpan, error) {
	var spans []keySpan
	for i := range r.parts {
		if p := &r.parts[i]; p.number == number {
			_, more, err := r.lostOf(p)
			if err != nil {
				return nil, err
			}
			spans = append(spans, more...)
		}
	}
	for {
		spans = union(spans)
		grown := false
		for i := range spans {
			wider, err := r.widen(spans[i])
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(wider.first, spans[i].first) || !bytes.Equal(wider.last, spans[i].last) {
				spans[i], grown = wider, true
			}
		}
		if !grown {
			return spans, nil
		}
	}
}

// widen extends a span over all damage that it touches in any file.
func (r *repairer) widen(sp keySpan) (keySpan, error) {
	for i := range r.parts {
		p := &r.parts[i]
		if !p.overlaps(sp.first, sp.last) {
			continue
		}
		_, bad, err := r.lostOf(p)
		if err != nil {
			return sp, err
		}
		for _, b := range bad {
			if bytes.Compare(b.first, sp.last) > 0 || bytes.Compare(b.last, sp.first) < 0 {
				continue
			}
			if bytes.Compare(b.first, sp.first) < 0 {
				sp.first = b.first
			}
			if bytes.Compare(b.last, sp.last) > 0 {
				sp.last = b.last
			}
		}
	}
	return sp, nil
}

func union(spans []keySpan) []keySpan {
	slices.SortFunc(spans, func(a, b keySpan) int { return bytes.Compare(a.first, b.first) })
	var joined []keySpan
	for _, sp := range spans {
		if n := len(joined); n > 0 && bytes.Compare(sp.first, joined[n-1].last) <= 0 {
			if bytes.Compare(sp.last, joined[n-1].last) > 0 {
				joined[n-1].last = sp.last
			}
			continue
		}
		joined = append(joined, sp)
	}
	return joined
}

func (r *repairer) copyAside(number uint64) (to string, err error) {
	f := r.db.folder
	if err := f.fs.MkdirAll(f.path(asideDir), 0o755); err != nil {
		return "", err
	}
	from := f.path("pebble", fileName(number))
	to = f.path(asideDir, fmt.Sprintf("%s-%d", fileName(number), r.db.opts.Now().UnixNano()))
	err = vfs.Copy(f.fs, from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the file is missing
	}
	if err != nil { // a partial copy is useless and takes space
		if removed := f.fs.Remove(to); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
		return "", err
	}
	return to, meta.SyncFolder(f.fs, f.path(asideDir))
}

// replace records the losses of a span, and replaces the span with its remaining data.
func (r *repairer) replace(ctx context.Context, sp keySpan) error {
	var sources []sst.Part
	var from []*part
	var ranges []lost
	for i := range r.parts {
		p := &r.parts[i]
		if !p.overlaps(sp.first, sp.last) {
			continue
		}
		more, _, err := r.lostOf(p)
		if err != nil {
			return err
		}
		for _, l := range more {
			if bytes.Compare(l.From, sp.last) <= 0 && bytes.Compare(sp.first, l.To) < 0 {
				ranges = append(ranges, l)
			}
		}
		if e := r.files[p.number]; e.file != nil {
			first, last := p.first, p.last
			if bytes.Compare(first, sp.first) < 0 {
				first = sp.first
			}
			if bytes.Compare(last, sp.last) > 0 {
				last = sp.last
			}
			sources = append(sources, sst.Part{File: e.file, First: first, Last: last, Seq: p.seq})
			from = append(from, p)
		}
	}
	tmp := r.db.folder.path("salvage")
	if err := r.db.folder.fs.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	w := sst.NewWriter(r.db.folder.fs, tmp, fmt.Sprintf("span-%d", r.made), r.db.options)
	r.made++
	ranges, err := salvage(w, sources, from, ranges, r.parts)
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	paths, err := w.Finish()
	if err == nil {
		err = r.db.ledger.add(ranges)
	}
	if err == nil {
		_, err = r.db.IngestAndExcise(ctx, paths, nil, nil, pebble.KeyRange{Start: sp.first, End: next(sp.last)})
	}
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	r.lost = append(r.lost, ranges...)
	return nil
}

// salvage writes the remaining data of a span, and returns the lost ranges. It removes a key from
// these ranges if a newer file has an entry for it, but never the key of a chunk.
func salvage(w *sst.Writer, sources []sst.Part, from []*part, ranges []lost, all []part) ([]lost, error) {
	m, err := sst.NewMerge(sources)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := m.Next()
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		if !ok {
			return ranges, m.Close()
		}
		e, i := m.Entry()
		if e.Key[0] != spaceChunk {
			ranges = narrow(ranges, e.Key, from[i], all)
		}
		if !e.HasValue {
			continue
		}
		if err := w.Set(e.Key, e.Value); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
}

// narrow excludes a key from the ranges of older files. The part "from" has an entry for the key.
func narrow(ranges []lost, key []byte, from *part, all []part) []lost {
	key = slices.Clone(key)
	end := next(key)
	var left []lost
	for i := range ranges {
		if l := &ranges[i]; l.overlaps(key, end) && from.newerThan(l.File, all) {
			left = append(left, l.without(key, end)...)
		} else {
			left = append(left, ranges[i])
		}
	}
	return left
}
