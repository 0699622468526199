package aggregate

import (
	"slices"
	"sort"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// columns has consecutive readings of one bucket, as columns of a block.
type columns struct {
	block.Part
	forms *block.Forms
}

func (c *columns) position(row int) varve.Position {
	return varve.Position{Time: c.Times[row], ID: c.forms.ID(row)}
}

// addColumns adds the readings of a part. They must be in ascending order.
func (s *series) addColumns(p *block.Part) error {
	s.forms.Reset(p.Block)
	for from := p.From; from < p.To; {
		if err := s.selectBucket(p.Times[from] / int64(time.Second)); err != nil {
			return err
		}
		end := s.current.End
		to := from + sort.Search(p.To-from, func(i int) bool { return p.Times[from+i]/int64(time.Second) >= end })
		run := columns{Part: block.Part{Block: p.Block, From: from, To: to}, forms: &s.forms}
		if err := s.addRun(&run); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (s *series) addRun(run *columns) error {
	s.next = 0
	s.current.readings += int64(run.Len())
	for i := range run.Columns {
		col := &run.Columns[i]
		values := col.Count(run.From, run.To)
		if values == 0 || len(s.q.Fields) > 0 && !slices.Contains(s.q.Fields, col.Name) {
			continue
		}
		c, err := s.cellOf(col.Name)
		if err != nil {
			return err
		}
		collected := c.addColumn(run, col, values, s.needs)
		if s.q.Top.Devices > 0 && col.Name == s.q.Top.Field {
			collected += s.rank.addColumn(run, col, values, s.ranks)
		}
		if err := s.budget.addCollected(collected); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds the values of a column, and returns how many of them it collected for
// percentiles.
func (c *cell) addColumn(run *columns, col *block.Column, values int, n needs) (collected int) {
	c.count += int64(values)
	found := col.Numbers(run.From, run.To)
	if found.Count == 0 {
		return 0
	}
	if n.sum {
		found.AddTo(&c.total)
	}
	if n.squares || n.numbers {
		for row := found.First; row <= found.Last; row++ {
			v := col.Value(row)
			if v.Kind() != varve.KindNumber {
				continue
			}
			if n.squares {
				c.squares.AddSquare(v.Number())
			}
			if n.numbers {
				c.collected = append(c.collected, v.Number())
				collected++
			}
		}
	}
	b := bounds{low: found.Min, high: found.Max}
	if n.ends {
		b.start, b.first = run.position(found.First), col.Value(found.First).Number()
		b.end, b.last = run.position(found.Last), col.Value(found.Last).Number()
	}
	c.widen(found.Count, b, n)
	return collected
}
