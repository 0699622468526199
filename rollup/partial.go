package rollup

import (
	"cmp"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// Partial is what some readings of a series add up to.
type Partial struct {
	Readings int64   // how many there are, with or without numbers
	Fields   []Field // those that had numbers, sorted by name

	digest      uint64 // of which readings they are, in whatever order
	prints      string // fingerprints of the readings, if there are few
	minutes     string // summaries of their minutes, if there are many
	again       bool   // copies were seen of readings that count elsewhere
	parts, read int64  // items beyond the first that it was written as, and how many of them were read
}

// Field is what the numbers of one field add up to.
type Field struct {
	Name        string
	Count       int64
	Sum         decimal.Sum
	Min, Max    varve.Number
	First, Last Point
}

// Point is a number, and the place of its reading in the series.
type Point struct {
	At    varve.Position
	Value varve.Number
}

// Time returns when the reading happened.
func (p *Point) Time() time.Time { return time.Unix(0, p.At.Time).UTC() }

func (f *Field) add(n varve.Number, at Point) {
	f.Sum.Add(n)
	f.extremes(1, n, n, at, at)
}

// extremes counts, and widens the bounds. Equal numbers may have been written
// with more zeros or fewer: bounds do without.
func (f *Field) extremes(count int64, low, high varve.Number, first, last Point) {
	if f.Count == 0 || low.Compare(f.Min) < 0 {
		f.Min = low.Canonical()
	}
	if f.Count == 0 || high.Compare(f.Max) > 0 {
		f.Max = high.Canonical()
	}
	if f.Count == 0 || first.At.Compare(f.First.At) < 0 {
		f.First = first
	}
	if f.Count == 0 || last.At.Compare(f.Last.At) > 0 {
		f.Last = last
	}
	f.Count += count
}

// Field returns the named field; nil if it had no number.
func (p *Partial) Field(name string) *Field {
	i, ok := slices.BinarySearchFunc(p.Fields, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return nil
	}
	return &p.Fields[i]
}

// tally adds readings and partials up, in a time that grows as they do, however
// many fields there are. Fields are in the order in which they first came, until
// result puts them into theirs.
type tally struct {
	sum   Partial
	only  wanted         // the fields that are added up
	index map[string]int // where fields are; nil while they are few
	kept  *sketch        // of the readings, if it is asked for
	found *found         // the readings, if they are asked for
}

// fresh returns an empty tally of the same kind.
func (t *tally) fresh() *tally {
	n := &tally{only: t.only}
	if t.kept != nil {
		n.kept = &sketch{}
	}
	if t.found != nil {
		n.found = &found{}
	}
	return n
}

// absorb adds another tally of the same kind, of other readings.
func (t *tally) absorb(o *tally) {
	t.merge(&o.sum)
	if t.kept != nil {
		t.kept.merge(o.kept)
	}
	if t.found != nil {
		t.found.list = append(t.found.list, o.found.list...)
	}
}

// few is how many fields are looked through one by one.
const few = 16

// wanted is the names of the fields that are asked for; nil is all.
type wanted map[string]bool

func wantedOf(names []string) (w wanted) {
	if len(names) > 0 {
		w = make(wanted, len(names))
	}
	for _, name := range names {
		w[name] = true
	}
	return w
}

func (w wanted) has(name string) bool { return w == nil || w[name] }

// add counts a reading. Each may be added once, in any order.
func (t *tally) add(r *varve.Reading) {
	t.sum.Readings++
	at, i := r.Position(), -1
	e := entryOf(at)
	t.sum.digest += e.digest
	if t.kept != nil {
		t.kept.add(e)
	}
	if t.found != nil {
		t.found.add(r, e.digest)
	}
	for j := range r.Fields {
		f := &r.Fields[j]
		if f.Value.Kind() != varve.KindNumber || !t.only.has(f.Name) {
			continue
		}
		n := f.Value.Number()
		i = t.place(f.Name, i+1)
		t.sum.Fields[i].add(n, Point{At: at, Value: n})
	}
}

// merge adds what other readings add up to.
func (t *tally) merge(p *Partial) {
	t.sum.Readings += p.Readings
	t.sum.digest += p.digest
	t.sum.again = t.sum.again || p.again
	i := -1
	for j := range p.Fields {
		f := &p.Fields[j]
		i = t.place(f.Name, i+1)
		t.sum.Fields[i].Sum.AddSum(&f.Sum)
		t.sum.Fields[i].extremes(f.Count, f.Min, f.Max, f.First, f.Last)
	}
}

// place returns where a field is, and makes room for one that is new. Most
// readings have the fields of the one before: next is where it is then.
func (t *tally) place(name string, next int) int {
	fields := t.sum.Fields
	if next < len(fields) && fields[next].Name == name {
		return next
	}
	if i, ok := t.find(name); ok {
		return i
	}
	if t.index != nil {
		t.index[name] = len(fields)
	}
	t.sum.Fields = append(fields, Field{Name: name})
	return len(fields)
}

func (t *tally) find(name string) (int, bool) {
	fields := t.sum.Fields
	if len(fields) <= few {
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

// result returns what all of it adds up to. Nothing is added after that.
func (t *tally) result() *Partial {
	byName := func(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(t.sum.Fields, byName) {
		slices.SortFunc(t.sum.Fields, byName)
	}
	if t.kept != nil {
		t.sum.prints, t.sum.minutes = t.kept.prints(), t.kept.summaries()
	}
	return &t.sum
}
