package aggregate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/rollup"
)

// budget counts the values of one query, and the numbers that are collected for percentiles. If one of
// them exceeds its limit, the query fails.
type budget struct{ values, collected int }

func (b *budget) addValues(n int) error {
	if b.values += n; b.values > MaxValues {
		return varve.InvalidParam("step", "more than %d buckets × devices × fields × functions: use a longer step, a shorter window, or fewer fields or functions", MaxValues)
	}
	return nil
}

func (b *budget) addCollected(n int) error {
	if b.collected += n; b.collected > MaxPercentileNumbers {
		return varve.InvalidParam("functions", "percentiles hold more than %d numbers: use a shorter step or window, or fewer devices", MaxPercentileNumbers)
	}
	return nil
}

// open is a bucket to which readings can still be added.
type open struct {
	Bucket
	readings int64
	cells    []cell         // one cell per field, in the order in which the fields first occurred
	index    map[string]int // indexes of cells by field; nil while the cells are few
}

// maxLinearSearch is the largest number of cells for which a linear search is fastest.
const maxLinearSearch = 16

// findCell returns the index of a field's cell, or -1.
func (o *open) findCell(field string) int {
	if len(o.cells) <= maxLinearSearch {
		return slices.IndexFunc(o.cells, func(c cell) bool { return c.name == field })
	}
	if o.index == nil {
		o.index = make(map[string]int, 2*len(o.cells))
		for i := range o.cells {
			o.index[o.cells[i].name] = i
		}
	}
	if i, ok := o.index[field]; ok {
		return i
	}
	return -1
}

// addCell adds a cell for a field.
func (o *open) addCell(field string) {
	if o.index != nil {
		o.index[field] = len(o.cells)
	}
	o.cells = append(o.cells, cell{name: field})
}

// series turns the readings of one device into rows. If the query merges devices, it combines the
// readings of all devices, one device after the other, into the same rows.
//
// Readings are added with beginReading and addValue, or with addColumns.
type series struct {
	q       *Query
	needs   needs
	budget  *budget
	at      varve.Position // position of the current reading
	current *open
	next    int             // index in current.cells at which the cell of the next value is expected
	open    map[int64]*open // if devices are merged, all buckets by their start
	rows    []Row           // rows of the buckets that are complete
	rank    cell            // values of the field by which devices are ranked, over the whole window
	ranks   needs
	forms   block.Forms
}

func newSeries(q *Query, b *budget) *series {
	s := &series{q: q, needs: needsOf(q.Functions), budget: b}
	if q.Merge {
		s.open = map[int64]*open{}
	}
	if q.Top.Devices > 0 {
		s.ranks = needsOf([]Function{q.Top.Function})
	}
	return s
}

// beginReading begins a reading. The readings of a device must be added in the order of their
// positions.
func (s *series) beginReading(sec int64, at varve.Position) error {
	s.at, s.next = at, 0
	if err := s.selectBucket(sec); err != nil {
		return err
	}
	s.current.readings++
	return nil
}

// selectBucket sets current to the bucket that contains a time in unix seconds.
func (s *series) selectBucket(sec int64) error {
	if s.current != nil && s.current.Contains(sec) {
		return nil
	}
	return s.openBucket(s.q.Step.BucketAt(sec))
}

// openBucket sets current to a bucket. Unless devices are merged, it first completes the previous
// bucket.
func (s *series) openBucket(b Bucket) error {
	if s.open == nil {
		s.closeBucket()
		s.current = &open{Bucket: b}
		return s.budget.addValues(len(s.q.Functions)) // also for a bucket that gets no field, because it needs memory, too
	}
	if s.current = s.open[b.Start]; s.current != nil {
		return nil
	}
	s.current = &open{Bucket: b}
	s.open[b.Start] = s.current
	return s.budget.addValues(len(s.q.Functions))
}

func (s *series) addValue(field string, v varve.Value) error {
	c, err := s.cellOf(field)
	if err != nil {
		return err
	}
	c.add(s.at, v, s.needs)
	if v.Kind() == varve.KindNumber && s.needs.numbers {
		if err := s.budget.addCollected(1); err != nil {
			return err
		}
	}
	if s.q.Top.Devices > 0 && field == s.q.Top.Field {
		s.rank.add(s.at, v, s.ranks)
		if v.Kind() == varve.KindNumber && s.ranks.numbers {
			return s.budget.addCollected(1)
		}
	}
	return nil
}

// cellOf returns the cell of a field in the current bucket. It tries the expected cell first,
// because most readings have the same fields as the reading before.
func (s *series) cellOf(field string) (*cell, error) {
	cells := s.current.cells
	i := s.next
	if i >= len(cells) || cells[i].name != field {
		i = s.current.findCell(field)
	}
	if i < 0 {
		if i = len(cells); i > 0 { // openBucket has counted the values of the first cell already
			if err := s.budget.addValues(len(s.q.Functions)); err != nil {
				return nil, err
			}
		}
		s.current.addCell(s.nameOf(field))
	}
	s.next = i + 1
	return &s.current.cells[i], nil
}

// nameOf returns a field's name that shares no memory with the readings. A substring would hold the whole
// page of readings in memory.
func (s *series) nameOf(field string) string {
	if n := len(s.rows); n > 0 {
		last := s.rows[n-1].Fields // sorted by name
		if i, ok := slices.BinarySearchFunc(last, field, func(f Field, name string) int { return cmp.Compare(f.Name, name) }); ok {
			return last[i].Name
		}
	}
	return strings.Clone(field)
}

// addRollup adds the roll-up of an hour or a day, which must be inside one bucket.
func (s *series) addRollup(r *rollup.Rollup) error {
	s.next = 0
	if err := s.selectBucket(r.Start.Unix()); err != nil {
		return err
	}
	s.current.readings += r.Readings
	for i := range r.Fields {
		c, err := s.cellOf(r.Fields[i].Name)
		if err != nil {
			return err
		}
		c.addRollup(&r.Fields[i], s.needs)
		if s.q.Top.Devices > 0 && r.Fields[i].Name == s.q.Top.Field {
			s.rank.addRollup(&r.Fields[i], s.ranks)
		}
	}
	return nil
}

// closeBucket appends the row of the current bucket to rows, and frees the numbers that were stored
// for percentiles.
func (s *series) closeBucket() {
	if s.current == nil {
		return
	}
	s.rows = append(s.rows, s.rowOf(s.current))
	if s.needs.numbers {
		for i := range s.current.cells {
			s.budget.collected -= len(s.current.cells[i].collected)
		}
	}
	s.current = nil
}

// finish returns the rows in the order of their buckets. The series must not be used afterwards.
func (s *series) finish(device string) ([]Row, error) {
	if s.open != nil {
		s.current = nil
		for _, start := range slices.Sorted(maps.Keys(s.open)) {
			s.current = s.open[start]
			s.closeBucket()
			delete(s.open, start)
		}
	}
	s.closeBucket()
	for i := range s.rows {
		s.rows[i].Device = device
	}
	return s.fillRows(device)
}

func (s *series) rowOf(b *open) Row {
	slices.SortFunc(b.cells, func(a, b cell) int { return cmp.Compare(a.name, b.name) })
	row := Row{Start: b.Start, Readings: b.readings}
	for i := range b.cells {
		c := &b.cells[i]
		f := Field{Name: c.name, Ignored: c.count - c.numbers, Values: make([]Value, len(s.q.Functions))}
		for j, function := range s.q.Functions {
			f.Values[j] = c.value(function)
		}
		row.Fields = append(row.Fields, f)
	}
	return row
}
