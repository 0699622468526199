package rollup

import (
	"cmp"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// tally adds up readings and partials. An addition takes time proportional to the number of fields.
// Fields are in the order of their first occurrence until the method "result" sorts them by name.
type tally struct {
	sum    Partial
	only   fieldSet       // fields to add up
	index  map[string]int // indexes of fields by name; nil while the fields are few
	sketch *sketch        // if not nil, collects a sketch of the readings
	list   *readingList   // if not nil, lists the readings
}

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

// absorb adds another tally with the same settings. No reading may be in both tallies.
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
	t.sum.arrived.add(t.sum.Readings, r.Arrived.UnixMilli())
	t.sum.Readings++
	at, i := r.Position(), -1
	e := entryOf(at)
	t.sum.digest += e.digest
	if t.sketch != nil {
		t.sketch.add(e)
	}
	if t.list != nil {
		t.list.add(r.Arrived.UnixNano(), e.digest)
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

// addColumns adds the readings of a part. It updates the digest only if the tally has a sketch or a
// list. Otherwise the digest is not used, and few ids must be computed.
func (t *tally) addColumns(run *block.Part, forms *block.Forms) {
	arrived := run.Arrived[run.From:run.To]
	t.sum.arrived.merge(t.sum.Readings, arrivals{slices.Min(arrived), slices.Max(arrived)})
	t.sum.Readings += int64(run.Len())
	if t.sketch != nil || t.list != nil {
		t.addDigests(run, forms)
	}
	pointAt := func(c *block.Column, row int) Point {
		return Point{At: varve.Position{Time: run.Times[row], ID: forms.ID(row)}, Value: c.Value(row).Number()}
	}
	i := -1
	for j := range run.Columns {
		c := &run.Columns[j]
		if !t.only.has(c.Name) {
			continue
		}
		n := c.Numbers(run.From, run.To)
		if n.Count == 0 {
			continue
		}
		i = t.fieldIndex(c.Name, i+1)
		f := &t.sum.Fields[i]
		n.AddTo(&f.Sum)
		f.widen(n.Count, n.Min, n.Max, pointAt(c, n.First), pointAt(c, n.Last))
	}
}

func (t *tally) addDigests(run *block.Part, forms *block.Forms) {
	for k, id := range forms.IDs(run, 0, run.Len()) {
		row := run.Row(k)
		e := entryOf(varve.Position{Time: run.Times[row], ID: id})
		t.sum.digest += e.digest
		if t.sketch != nil {
			t.sketch.add(e)
		}
		if t.list != nil {
			t.list.add(run.Arrived[row]*int64(time.Millisecond), e.digest)
		}
	}
}

// merge adds a partial. None of its readings may be in the tally already.
func (t *tally) merge(p *Partial) {
	if p.Readings > 0 {
		t.sum.arrived.merge(t.sum.Readings, p.arrived)
	}
	t.sum.Readings += p.Readings
	t.sum.digest += p.digest
	t.sum.copiesSeen = t.sum.copiesSeen || p.copiesSeen
	t.sum.replaces = t.sum.replaces || p.replaces
	t.sum.uncorrected = t.sum.uncorrected || p.uncorrected
	i := -1
	for j := range p.Fields {
		f := &p.Fields[j]
		i = t.fieldIndex(f.Name, i+1)
		t.sum.Fields[i].Sum.AddSum(&f.Sum)
		t.sum.Fields[i].widen(f.Count, f.Min, f.Max, f.First, f.Last)
	}
}

// fieldIndex returns the index of a field. If the field is new, it adds the field. It tries the index
// "next" first, because most readings have the same fields as the reading before.
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

// result returns the sum as a partial. The tally must not be used afterward.
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

type readingList []countedReading

type countedReading struct {
	arrived int64 // arrival in nanoseconds since 1970
	digest  uint64
	unclear bool // whether the reading may be a copy of a reading that was counted before
}

func (l *readingList) add(arrived int64, digest uint64) {
	*l = append(*l, countedReading{arrived: arrived, digest: digest})
}

// setUnclear marks all readings of the list as unclear. The list may be nil.
func (l *readingList) setUnclear() {
	if l == nil {
		return
	}
	for i := range *l {
		(*l)[i].unclear = true
	}
}
