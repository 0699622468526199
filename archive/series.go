package archive

import (
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

// SeriesReader reads a range of one series from the archive of a table, page by page. Only one
// goroutine may use it.
type SeriesReader struct {
	reader *Reader
	record Record
	rng    store.Range
	shared *sharedGroups // row groups of a merged archive that one query reads; nil for other archives
	begun  bool
	left   []group      // row groups that are not read yet, in the order of the range
	parts  []block.Part // decoded readings that were not returned yet
	forms  block.Forms

	requests atomic.Int64 // number of requests to the object store
}

// group is a row group that may have readings of a range.
type group struct {
	file  *FileEntry
	index int
}

func (g group) entry() *GroupEntry { return &g.file.Groups[g.index] }

func (e *GroupEntry) isIn(w varve.Window) bool { return e.From.Before(w.To) && !e.To.Before(w.From) }

// Next returns the next readings as columns. The argument "limit" is their maximum number. On the
// last page, which may be empty, More is false.
func (s *SeriesReader) Next(ctx context.Context, limit int) (page store.BlockPage, err error) {
	before, begun := s.requests.Load(), s.begun
	if err = s.begin(ctx); err == nil {
		if s.shared != nil && !begun {
			s.shared.join(s)
		}
		for len(s.parts) == 0 && len(s.left) > 0 && err == nil {
			err = s.readRun(ctx)
		}
	}
	page.Cost.Requests = int(s.requests.Load() - before)
	if err != nil {
		if s.shared != nil {
			s.shared.leave(s)
		}
		return page, s.problem(ctx, err)
	}
	for len(s.parts) > 0 && limit > 0 {
		part := s.parts[0]
		if part.Len() > limit {
			part, s.parts[0] = part.Cut(limit)
		} else {
			s.parts = s.parts[1:]
		}
		limit -= part.Len()
		page.Parts = append(page.Parts, part)
	}
	page.More = len(s.parts) > 0 || len(s.left) > 0
	page.Split = page.More && len(page.Parts) > 0 && s.maySplit(&page.Parts[len(page.Parts)-1])
	return page, nil
}

// maySplit reports whether the next reading may be another version of the last reading of a part.
func (s *SeriesReader) maySplit(last *block.Part) bool {
	at := last.LastTime()
	if len(s.parts) > 0 {
		return s.parts[0].FirstTime() == at
	}
	g := s.left[0].entry()
	if s.rng.Order == varve.Descending {
		return g.To.UnixNano() >= at
	}
	return g.From.UnixNano() <= at
}

// begin finds the row groups that may have readings of the range.
func (s *SeriesReader) begin(ctx context.Context) error {
	if s.begun {
		return nil
	}
	m, err := s.sharedManifest(ctx)
	if err != nil {
		return err
	}
	s.begun = true
	s.rng.Window = clipWindow(s.rng.Window, s.record.Table.Window()) // the table's window ends by varve.MaxTime, so UnixNano does not overflow
	s.left = s.groupsIn(m, s.rng.Window)
	return nil
}

// sharedManifest returns the manifest. The readers of one query request the manifest of a merged archive
// once.
func (s *SeriesReader) sharedManifest(ctx context.Context) (m *Manifest, err error) {
	g := s.shared
	if g == nil {
		return s.manifest(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.manifest == nil {
		if m, err = s.manifest(ctx); err != nil {
			return nil, err
		}
		if err := g.load(m, s); err != nil {
			return nil, err
		}
	}
	return g.manifest, s.record.checkEntry(g.manifest)
}

// groupsIn returns the row groups that may have readings of the range in a window, in the order of the
// range.
func (s *SeriesReader) groupsIn(m *Manifest, w varve.Window) (list []group) {
	w, of := s.afterIn(w), s.rng.Series
	between := func(first, last SeriesKey) bool {
		return first.Series().Compare(of) <= 0 && of.Compare(last.Series()) <= 0
	}
	for i := range m.Files {
		f := &m.Files[i]
		if !between(f.First, f.Last) {
			continue
		}
		for n := range f.Groups {
			if g := &f.Groups[n]; between(g.First, g.Last) && g.isIn(w) {
				list = append(list, group{f, n})
			}
		}
	}
	if s.rng.Order == varve.Descending {
		slices.Reverse(list)
	}
	return list
}

func clipWindow(w, other varve.Window) varve.Window {
	if w.From.Before(other.From) {
		w.From = other.From
	}
	if w.To.After(other.To) {
		w.To = other.To
	}
	return w
}

// afterIn returns the part of a window that can have readings after the position s.rng.After. In a descending
// range, these readings have the same event time as the position or an earlier one.
func (s *SeriesReader) afterIn(w varve.Window) varve.Window {
	if s.rng.After == nil {
		return w
	}
	if at := time.Unix(0, s.rng.After.Time); s.rng.Order == varve.Ascending && at.After(w.From) {
		w.From = at
	} else if s.rng.Order == varve.Descending && !at.After(w.To) {
		w.To = at.Add(1)
	}
	return w
}

// run is a sequence of adjacent row groups of one file, in the order of the file.
type run struct {
	file        *FileEntry
	first, last int
}

// takeRun returns the first row groups of a list, which are read together, and the rest of the list.
func takeRun(left []group) (run, []group) {
	g := left[0]
	r := run{g.file, g.index, g.index}
	left = left[1:]
	for len(left) > 0 && left[0].file == r.file {
		next := r
		next.first, next.last = min(r.first, left[0].index), max(r.last, left[0].index)
		if next.last-next.first > r.last-r.first+1 || next.body().Size > fetchBytes || next.rows() > fetchRows {
			break
		}
		r, left = next, left[1:]
	}
	return r, left
}

func (r run) rows() (n int64) {
	for i := r.first; i <= r.last; i++ {
		n += r.file.Groups[i].Rows
	}
	return n
}

func (r run) body() RangeEntry {
	from := r.file.Groups[r.first].Offset
	return RangeEntry{Offset: from, Size: r.file.Groups[r.last].end() - from}
}

// ranges returns the ranges to read: the row groups, and the footer unless it is known. They are one
// range if the footer is near.
func (r run) ranges(footerKnown bool) []RangeEntry {
	body, footer := r.body(), r.file.Footer
	switch {
	case footerKnown:
		return []RangeEntry{body}
	case footer.end()-body.Offset <= max(fetchBytes, body.Size+footer.Size):
		return []RangeEntry{{Offset: body.Offset, Size: footer.end() - body.Offset}}
	default:
		return []RangeEntry{body, {Offset: footer.Offset, Size: footer.Size}}
	}
}

// readRun adds the readings of the next row groups to s.parts.
func (s *SeriesReader) readRun(ctx context.Context) error {
	var blocks []*block.Block
	var err error
	if s.shared != nil {
		blocks, err = s.shared.takeGroup(ctx, s)
	} else {
		r, _ := takeRun(s.left)
		var d decodedRun
		if d, err = s.decodeRun(ctx, r); err == nil {
			blocks, s.left = d.blocks, s.left[len(d.blocks):]
		}
	}
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if part := s.clip(b); part.Len() > 0 {
			s.parts = append(s.parts, part)
		}
	}
	if s.rng.Order == varve.Descending {
		slices.Reverse(s.parts)
	}
	return nil
}

// fetchRun reads row groups and the footer of a file, and compares them with their checksums.
func (s *SeriesReader) fetchRun(ctx context.Context, r run) (*parquetfile.Ranges, error) {
	key, f := s.record.FilesDir()+r.file.Name, r.file
	footer, footerKnown := s.reader.known.Get(f.Footer.SHA256)
	ranges := r.ranges(footerKnown)
	bodies := make([][]byte, len(ranges))
	g, ctx := errgroup.WithContext(ctx)
	for i := range ranges {
		g.Go(func() (err error) {
			bodies[i], err = s.fetch(ctx, key, ranges[i].Offset, ranges[i].Size)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	part := func(e *RangeEntry) ([]byte, error) {
		for i := range ranges {
			if at := e.Offset - ranges[i].Offset; at >= 0 && e.end() <= ranges[i].end() {
				if body := bodies[i][at : at+e.Size]; objectstore.SumOf(body) == e.SHA256 {
					return body, nil
				}
			}
		}
		return nil, changedError(key, e)
	}
	known := &parquetfile.Ranges{Length: f.Size}
	if footerKnown {
		known.Add(f.Footer.Offset, footer.([]byte))
	} else {
		body, err := part(&f.Footer)
		if err != nil {
			return nil, err
		}
		s.reader.remember(f.Footer.SHA256, slices.Clone(body), len(body))
		known.Add(f.Footer.Offset, body)
	}
	for i := r.first; i <= r.last; i++ {
		body, err := part(&f.Groups[i].RangeEntry)
		if err != nil {
			return nil, err
		}
		known.Add(f.Groups[i].Offset, body)
	}
	return known, nil
}

// clip returns the readings of a block that are in the range.
func (s *SeriesReader) clip(b *block.Block) block.Part {
	from, to := rowsIn(b, s.rng.Window)
	if after := s.rng.After; after != nil {
		s.forms.Reset(b)
		compare := func(i int) int {
			if b.Times[i] == after.Time {
				return s.forms.ID(i).Compare(after.ID)
			}
			return varve.Position{Time: b.Times[i]}.Compare(varve.Position{Time: after.Time})
		}
		if s.rng.Order == varve.Descending {
			to = max(from, min(to, sort.Search(b.Len(), func(i int) bool { return compare(i) >= 0 })))
		} else {
			from = min(to, max(from, sort.Search(b.Len(), func(i int) bool { return compare(i) > 0 })))
		}
	}
	return block.Part{Block: b, From: from, To: to, Desc: s.rng.Order == varve.Descending}
}
