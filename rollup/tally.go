package rollup

import (
	"cmp"
	"slices"

	"github.com/varvedb/varve"
)

// tally adds up readings and partials. To add one takes time proportional to the number of its
// fields. Fields are in the order of their first occurrence until result sorts them by name.
type tally struct {
	sum    Partial
	only   fieldSet
	index  map[string]int // indexes of fields by name; nil while they are few
	sketch *sketch        // if not nil, collects a sketch of the readings
	list   *readingList   // if not nil, lists the readings
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

// absorb adds another tally with the same settings. No reading may be in both.
func (t *tally) absorb(o *tally) {
	t.merge(&o.sum)
	if t.sketch != nil {
		t.sketch.merge(o.sketch)
	}
	if t.list != nil {
		*t.list = append(*t.list, *o.list...)
	}
}

// add adds a reading. Readings may be added in any order, but each only once.
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

// merge adds a partial. None of its readings may be in the tally already.
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

// fieldIndex returns the index of a field. If the field is new, it adds the field. It tries index
// next first, because most readings have the same fields as the reading before.
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

// maxLinearSearch is the largest number of fields for which a linear search is fastest.
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

// result returns the sum. The tally must not be used afterwards.
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
	unclear bool // the reading may be a copy of a reading that was counted before
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
