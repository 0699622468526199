package local

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// part is the range of keys of one file that Pebble uses: from first to last, inclusive. Pebble's
// list of files may use several parts of a file, or ignore some of its keys.
type part struct {
	number      uint64 // number of the file on disk
	level       int
	first, last []byte
	end         []byte // the first key after the part
	seq         uint64 // the sequence number of all entries; 0 means that each has its own
	oldest      uint64 // the lowest sequence number of the part
	newest      uint64 // the highest sequence number of the part
	size        uint64
	virtual     bool // whether the part is less than the whole file
}

func (p *part) overlaps(first, last []byte) bool {
	return bytes.Compare(p.first, last) <= 0 && bytes.Compare(first, p.last) <= 0
}

func partsInUse(db *pebble.DB) (list []part, err error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	for level, tables := range levels {
		for i := range tables {
			t := &tables[i]
			list = append(list, makePart(level, &t.TableInfo, uint64(t.BackingSSTNum), t.Virtual))
		}
	}
	return list, nil
}

// partsKept returns the parts that db uses, and protects their files until "release" is called. Otherwise,
// Pebble could merge an intact file and delete it before it is read. Then the file would count as lost.
func partsKept(db *pebble.DB) (list []part, release func() error, err error) {
	for {
		if list, err = partsInUse(db); err != nil {
			return nil, nil, err
		}
		// An iterator protects the files of the list that is current when the iterator is created.
		iter, err := db.NewIter(nil)
		if err != nil {
			return nil, nil, err
		}
		again, err := partsInUse(db)
		if err == nil && slices.EqualFunc(list, again, samePart) {
			return list, iter.Close, nil
		}
		if err = errors.Join(err, iter.Close()); err != nil {
			return nil, nil, err
		}
	}
}

func samePart(a, b part) bool {
	return a.number == b.number && a.level == b.level && bytes.Equal(a.first, b.first) && bytes.Equal(a.last, b.last)
}

// storedParts returns the parts that db uses. The database is open read-only, so some of their
// files may be missing.
func storedParts(db *pebble.DB) (list []part) {
	version := db.DebugCurrentVersion()
	for level := range version.Levels {
		for t := range version.Levels[level].All() {
			info := t.TableInfo()
			list = append(list, makePart(level, &info, uint64(t.TableBacking.DiskFileNum), t.Virtual))
		}
	}
	return list
}

func makePart(level int, t *pebble.TableInfo, number uint64, virtual bool) part {
	p := part{
		number: number, level: level, size: t.Size, virtual: virtual,
		first: slices.Clone(t.Smallest.UserKey), last: slices.Clone(t.Largest.UserKey),
		oldest: uint64(t.SmallestSeqNum), newest: uint64(t.LargestSeqNum),
	}
	p.end = p.last
	if !t.Largest.IsExclusiveSentinel() {
		p.end = next(p.last)
	}
	if p.oldest == p.newest { // all entries have one sequence number, as in an ingested file
		p.seq = p.newest
	}
	return p
}

// newerThan reports whether each entry of a part is newer than all entries that a file has for the same
// key.
func (p *part) newerThan(file string, all []part) bool {
	for i := range all {
		q := &all[i]
		if fileName(q.number) != file || !q.overlaps(p.first, p.last) {
			continue
		}
		if p.level > q.level || p.level == q.level && (p.level > 0 || p.oldest <= q.newest) {
			return false
		}
	}
	return true
}
