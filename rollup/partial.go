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
