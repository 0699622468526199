package rollup

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Attributes of a partial's item.
const (
	attrReadings = "readings"
	attrFields   = "fields"
)

// item returns a partial as an item. Its fields are a line each, of eleven
// columns between tabs, which no name and no id has: name, count, sum, min, max,
// and time, id and value of the first and of the last.
func (p *Partial) item(k store.Key) store.Item {
	it := store.Item{Key: k, Attrs: map[string]varve.Value{attrReadings: varve.IntValue(p.Readings)}}
	var text []byte
	for i := range p.Fields {
		f := &p.Fields[i]
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(append(text, f.Name...), '\t')
		text = append(strconv.AppendInt(text, f.Count, 10), '\t')
		text = append(f.Sum.Append(text), '\t')
		text = append(f.Min.Append(text), '\t')
		text = append(f.Max.Append(text), '\t')
		text = append(f.First.append(text), '\t')
		text = f.Last.append(text)
	}
	if len(text) > 0 {
		it.Attrs[attrFields] = varve.StringValue(string(text))
	}
	return it
}

func (p *Point) append(dst []byte) []byte {
	dst = append(strconv.AppendInt(dst, p.At.Time, 10), '\t')
	dst = append(p.At.ID.Append(dst), '\t')
	return p.Value.Append(dst)
}

// parsePartial reads what item wrote: only the wanted fields.
func parsePartial(it *store.Item, only wanted) (*Partial, error) {
	p := &Partial{}
	var ok bool
	if p.Readings, ok = it.Attrs[attrReadings].Int(); !ok {
		return nil, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrReadings, it.Attrs[attrReadings])
	}
	p.again = p.Readings == 0
	text := it.Attrs[attrFields].Text()
	if text == "" {
		return p, nil
	}
	lines := strings.Count(text, "\n") + 1
	if only != nil {
		lines = min(lines, len(only))
	}
	p.Fields = make([]Field, 0, lines)
	for line := range strings.SplitSeq(text, "\n") {
		c := columns{rest: line}
		f := Field{Name: c.next()}
		if !only.has(f.Name) {
			continue
		}
		f.Count = c.integer()
		f.Sum = c.decimal()
		f.Min, f.Max = c.number(), c.number()
		f.First, f.Last = c.point(), c.point()
		if c.err != nil {
			return nil, fmt.Errorf("item %s %s: %s: line %q: %w", it.PK, it.SK, attrFields, line, c.err)
		}
		p.Fields = append(p.Fields, f)
	}
	return p, nil
}

// columns reads a line; the first thing that is wrong is its error.
type columns struct {
	rest string
	err  error
}

func (c *columns) next() (text string) {
	text, c.rest, _ = strings.Cut(c.rest, "\t")
	return text
}

func (c *columns) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *columns) integer() int64 {
	n, err := strconv.ParseInt(c.next(), 10, 64)
	c.fail(err)
	return n
}

func (c *columns) number() varve.Number {
	n, err := varve.ParseNumber(c.next())
	c.fail(err)
	return n
}

func (c *columns) decimal() Decimal {
	d, err := parseDecimal(c.next())
	c.fail(err)
	return d
}

func (c *columns) point() Point {
	p := Point{At: varve.Position{Time: c.integer()}}
	id, err := varve.ParseID(c.next())
	c.fail(err)
	p.At.ID, p.Value = id, c.number()
	return p
}
