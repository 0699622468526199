package sst

import (
	"bytes"
	"container/heap"
	"errors"
)

// Part is the range of a file in a merge: its entries from First to Last, inclusive. A nil bound
// means no limit.
type Part struct {
	File        *File
	First, Last []byte
	Seq         uint64 // sequence number of all entries of an ingested file; 0 means that each has its own
}

// Merge returns the newest entry of each key of several parts, in order. Entries in a deleted range
// count as deletions. If entries of a key have equal sequence numbers, they are copies, and Merge
// uses the copy of the earlier part.
type Merge struct {
	sources   sources
	deletions []partDeletion
	entry     Entry
	key       []byte // memory for Entry.Key
	value     []byte
	part      int
	holes     [][]Hole
	all       []*Scan
}

// partDeletion is a deletion of a part. It affects only keys in the part, because the file may have more keys
// than the part.
type partDeletion struct {
	Deletion
	part *Part
}

func (d *partDeletion) covers(e *Entry) bool {
	return d.Seq > e.Seq && bytes.Compare(d.Start, e.Key) <= 0 && bytes.Compare(e.Key, d.End) < 0 && d.part.contains(e.Key)
}

func (p *Part) contains(key []byte) bool {
	return (p.First == nil || bytes.Compare(p.First, key) <= 0) && (p.Last == nil || bytes.Compare(key, p.Last) <= 0)
}

type mergeSource struct {
	scan *Scan
	part int
	last []byte
}

type sources []*mergeSource

func (s sources) Len() int { return len(s) }

func (s sources) Less(i, j int) bool {
	a, b := s[i].scan.Entry(), s[j].scan.Entry()
	if c := bytes.Compare(a.Key, b.Key); c != 0 {
		return c < 0
	}
	if a.Seq != b.Seq {
		return a.Seq > b.Seq
	}
	return s[i].part < s[j].part
}

func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(x any)   { *s = append(*s, x.(*mergeSource)) }

func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// NewMerge begins a merge of parts. If the deleted ranges of a part are unreadable, NewMerge
// ignores them.
func NewMerge(parts []Part) (*Merge, error) {
	m := &Merge{holes: make([][]Hole, len(parts))}
	for i, p := range parts {
		if list, err := p.File.Deletions(); err == nil {
			for _, d := range list {
				if p.Seq != 0 {
					d.Seq = p.Seq
				}
				m.deletions = append(m.deletions, partDeletion{d, &parts[i]})
			}
		}
		scan, err := p.File.Scan(p.First, p.Seq)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.all = append(m.all, scan)
		src := &mergeSource{scan: scan, part: i, last: p.Last}
		ok, err := src.next()
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		if ok {
			m.sources = append(m.sources, src)
		}
	}
	heap.Init(&m.sources)
	return m, nil
}

func (s *mergeSource) next() (bool, error) {
	ok, err := s.scan.Next()
	return ok && (s.last == nil || bytes.Compare(s.scan.Entry().Key, s.last) <= 0), err
}

// Next moves to the next key. It returns false at the end.
func (m *Merge) Next() (bool, error) {
	if len(m.sources) == 0 {
		return false, nil
	}
	e := m.sources[0].scan.Entry()
	m.key, m.value = append(m.key[:0], e.Key...), append(m.value[:0], e.Value...)
	m.entry = Entry{Key: m.key, Seq: e.Seq, HasValue: e.HasValue, Value: m.value}
	m.part = m.sources[0].part
	for i := range m.deletions {
		if m.deletions[i].covers(&m.entry) {
			m.entry.HasValue = false
		}
	}
	for len(m.sources) > 0 && bytes.Equal(m.sources[0].scan.Entry().Key, m.key) {
		ok, err := m.sources[0].next()
		switch {
		case err != nil:
			return false, err
		case ok:
			heap.Fix(&m.sources, 0)
		default:
			heap.Pop(&m.sources)
		}
	}
	return true, nil
}

// Entry returns the current entry, and the index of its part.
func (m *Merge) Entry() (e *Entry, part int) { return &m.entry, m.part }

// Holes returns the skipped ranges of each part so far. A hole may extend beyond its part.
func (m *Merge) Holes() [][]Hole {
	for i, scan := range m.all {
		m.holes[i] = scan.Holes()
	}
	return m.holes
}

// Close ends the merge. Its files stay open.
func (m *Merge) Close() error {
	var errs []error
	for _, scan := range m.all {
		errs = append(errs, scan.Close())
	}
	m.all, m.sources = nil, nil
	return errors.Join(errs...)
}
