package rollup

import (
	"cmp"
	"slices"

	"github.com/varvedb/varve"
)

// tally adds up readings and partials, in time proportional to their fields. Fields are in
// the order of their first occurrence, until result sorts them by name.
type tally struct {
	sum    Partial
	only   fieldSet
	index  map[string]int // indexes of fields; nil while they are few
	sketch *sketch        // of the readings, if not nil
	list   *readingList   // of the readings, if not nil
}

// newEmpty returns an empty tally with the same settings.
func (t *tally) newEmpty() *tally {
	n := &tally{only: t.only}
	if t.sketch != nil {
		n.sketch = &sketch{}
	}
	if t.list != nil {
		n.list = &readingList{}
	}
	return n
}

// absorb adds a tally of other readings, with the same settings.
func (t *tally) absorb(o *tally) {
	t.merge(&o.sum)
	if t.sketch != nil {
		t.sketch.merge(o.sketch)
	}
	if t.list != nil {
		*t.list = append(*t.list, *o.list...)
	}
}

// add adds a reading. Each reading may be added once, in any order.
func (t *tally) add(r *varve.Reading) {
	t.sum.Readings++
	at, i := r.Position(), -1
	e := entryOf(at)
	t.sum.digest += e.digest
	if t.sketch != nil {
		t.sketch.add(e)
	}
	if t.list != nil {
		t.list.add(r, e.digest)
	}
	for j := range r.Fields {
		f := &r.Fields[j]
		if f.Value.Kind() != varve.KindNumber || !t.only.has(f.Name) {
			continue
		}
		n := f.Value.Number()
		i = t.fieldIndex(f.Name, i+1)
		t.sum.Fields[i].add(n, Point{At: at, Value: n})
	}
}

// merge adds a partial of other readings.
func (t *tally) merge(p *Partial) {
	t.sum.Readings += p.Readings
	t.sum.digest += p.digest
	t.sum.copiesSeen = t.sum.copiesSeen || p.copiesSeen
	i := -1
	for j := range p.Fields {
		f := &p.Fields[j]
		i = t.fieldIndex(f.Name, i+1)
		t.sum.Fields[i].Sum.AddSum(&f.Sum)
		t.sum.Fields[i].widen(f.Count, f.Min, f.Max, f.First, f.Last)
	}
}

// fieldIndex returns the index of a field, and adds a new one. Most readings have the fields
// of the reading before, so next is the likely index.
func (t *tally) fieldIndex(name string, next int) int {
	fields := t.sum.Fields
	if next < len(fields) && fields[next].Name == name {
		return next
	}
	if i, ok := t.findField(name); ok {
		return i
	}
	if t.index != nil {
		t.index[name] = len(fields)
	}
	t.sum.Fields = append(fields, Field{Name: name})
	return len(fields)
}

// maxLinearSearch is the number of fields up to which a linear search is fastest.
const maxLinearSearch = 16

func (t *tally) findField(name string) (int, bool) {
	fields := t.sum.Fields
	if len(fields) <= maxLinearSearch {
		for i := range fields {
			if fields[i].Name == name {
				return i, true
			}
		}
		return 0, false
	}
	if t.index == nil {
		t.index = make(map[string]int, 2*len(fields))
		for i := range fields {
			t.index[fields[i].Name] = i
		}
	}
	i, ok := t.index[name]
	return i, ok
}

// result returns the sum. Nothing may be added after the call.
func (t *tally) result() *Partial {
	byName := func(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(t.sum.Fields, byName) {
		slices.SortFunc(t.sum.Fields, byName)
	}
	if t.sketch != nil {
		t.sum.fingerprints, t.sum.minutes = t.sketch.fingerprints(), t.sketch.summaries()
	}
	return &t.sum
}

// readingList lists the readings that count in a slot.
type readingList []countedReading

type countedReading struct {
	arrived int64 // unix nanoseconds
	digest  uint64
	unclear bool // it may be a copy of a reading that was counted before
}

func (l *readingList) add(r *varve.Reading, digest uint64) {
	*l = append(*l, countedReading{arrived: r.Arrived.UnixNano(), digest: digest})
}

// setUnclear sets unclear on all readings of the list. The list may be nil.
func (l *readingList) setUnclear() {
	if l == nil {
		return
	}
	for i := range *l {
		(*l)[i].unclear = true
	}
}
