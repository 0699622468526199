package rollup

import (
	"cmp"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// Partial is what some readings of a series add up to.
type Partial struct {
	Readings int64   // how many there are, with or without numbers
	Fields   []Field // those that had numbers, sorted by name

	again bool // copies were seen of readings that count elsewhere
}

// Field is what the numbers of one field add up to.
type Field struct {
	Name        string
	Count       int64
	Sum         Decimal
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

// Add counts a reading. Each may be added once, in any order.
func (p *Partial) Add(r *varve.Reading) {
	p.Readings++
	at, i := r.Position(), 0
	for j := range r.Fields {
		f := &r.Fields[j]
		if f.Value.Kind() != varve.KindNumber {
			continue
		}
		n := f.Value.Number()
		i = p.place(f.Name, i)
		p.Fields[i].add(n, Point{At: at, Value: n})
	}
}

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

// Merge adds what other readings add up to.
func (p *Partial) Merge(o *Partial) {
	p.Readings += o.Readings
	p.again = p.again || o.again
	i := 0
	for j := range o.Fields {
		f := &o.Fields[j]
		i = p.place(f.Name, i)
		p.Fields[i].Sum.AddDecimal(&f.Sum)
		p.Fields[i].extremes(f.Count, f.Min, f.Max, f.First, f.Last)
	}
}

// place returns where a field is, and makes room for one that is new. Names
// that come in their order are found at once from the place of the one before.
func (p *Partial) place(name string, from int) int {
	for ; from < len(p.Fields) && p.Fields[from].Name < name; from++ {
	}
	if from == len(p.Fields) || p.Fields[from].Name != name {
		p.Fields = slices.Insert(p.Fields, from, Field{Name: name})
	}
	return from
}

// project leaves only the named fields; none named: all.
func (p *Partial) project(names []string) {
	if len(names) > 0 {
		p.Fields = slices.DeleteFunc(p.Fields, func(f Field) bool { return !slices.Contains(names, f.Name) })
	}
}

// Field returns the named field; nil if it had no number.
func (p *Partial) Field(name string) *Field {
	i, ok := slices.BinarySearchFunc(p.Fields, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return nil
	}
	return &p.Fields[i]
}
