package parquetfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// seriesRun is a series of a row group. The field "from" is the index of its first row.
type seriesRun struct {
	series varve.Series
	from   int
}

// ownID is the id of a row whose reading has another id than its content id.
type ownID struct {
	row int32
	id  varve.ID
}

// loose is a value that has no column.
type loose struct {
	row   int32
	name  string
	value varve.Value
}

const (
	// valueBytes is the assumed memory of a value without its text. Most numbers need less.
	valueBytes = 8
	// fieldBytes is the assumed memory of a field without its values.
	fieldBytes = 2000
	// spareBytes limits the memory of the fields that the next row group reuses.
	spareBytes = groupBytes / 4
)

// group collects the rows of one row group.
type group struct {
	runs    []seriesRun
	times   []int64
	arrived []int64
	ids     []ownID
	fields  map[string]*field
	recent  []*field // a cache: the field that a recent reading had at each index
	loose   []loose
	bytes   int // approximate size of the values and the fields in bytes
}

func newGroup() *group { return &group{fields: map[string]*field{}} }

func (g *group) reset() {
	g.runs, g.times, g.arrived, g.ids, g.loose = g.runs[:0], g.times[:0], g.arrived[:0], g.ids[:0], g.loose[:0]
	g.recent, g.bytes = g.recent[:0], 0
	for name, f := range g.fields {
		if len(f.rows) == 0 || g.bytes >= spareBytes {
			delete(g.fields, name) // the last row group had no values of the field, or too many fields
			continue
		}
		f.reset(0)
		g.bytes += fieldBytes
	}
}

func (g *group) rows() int { return len(g.times) }

// beginSeries adds a series, unless it is the last one.
func (g *group) beginSeries(s varve.Series) {
	if n := len(g.runs); n == 0 || g.runs[n-1].series != s {
		g.runs = append(g.runs, seriesRun{s, g.rows()})
	}
}

// field returns the field with the given name, and adds it if it is missing. If the field has no kind yet,
// it gets the given one. The argument "at" is the index of the field in the reading. It selects the cached
// field to try first, because consecutive readings usually have the same fields in the same order.
func (g *group) field(at int, name string, kind varve.Kind) *field {
	if at < len(g.recent) && g.recent[at].name == name {
		return g.recent[at]
	}
	f := g.fields[name]
	if f == nil {
		f = &field{name: name}
		f.reset(kind)
		g.bytes += fieldBytes
		g.fields[name] = f
	}
	if f.kind == 0 {
		f.reset(kind)
	}
	for len(g.recent) <= at {
		g.recent = append(g.recent, f)
	}
	g.recent[at] = f
	return f
}

// add adds a reading. If the reading has its content id, the argument id is the zero ID.
func (g *group) add(r *varve.Reading, id varve.ID) {
	g.beginSeries(r.Series)
	row := int32(g.rows())
	g.times = append(g.times, r.Time.UnixNano())
	g.arrived = append(g.arrived, r.Arrived.UnixMilli())
	if !id.IsZero() {
		g.ids = append(g.ids, ownID{row, id})
	}
	for i := range r.Fields {
		v := r.Fields[i].Value
		g.bytes += valueBytes + len(v.Text())
		if !g.field(i, r.Fields[i].Name, v.Kind()).add(row, v) {
			g.loose = append(g.loose, loose{row, r.Fields[i].Name, v})
		}
	}
}

// addPart adds readings that are stored as columns, in ascending order.
func (g *group) addPart(p *block.Part) {
	g.beginSeries(p.Series)
	first := int32(g.rows() - p.From)
	g.times = append(g.times, p.Times[p.From:p.To]...)
	g.arrived = append(g.arrived, p.Arrived[p.From:p.To]...)
	for i := p.From; i < p.To && len(p.IDs) > 0; i++ {
		if id, own := p.OwnID(i); own {
			g.ids = append(g.ids, ownID{first + int32(i), id})
		}
	}
	for at := range p.Columns {
		c := &p.Columns[at]
		if !c.HasAny(p) {
			continue
		}
		g.bytes += valueBytes * p.Len()
		c.Decode()
		if c.Plain {
			if f := g.field(at, c.Name, varve.KindNumber); f.kind == varve.KindNumber {
				for i := p.From; i < p.To; i++ {
					f.addScaled(first+int32(i), c.Coefs[i], int(c.Least))
				}
				continue
			}
		}
		for i := p.From; i < p.To; i++ {
			v := c.Value(i)
			if v.IsZero() {
				continue
			}
			g.bytes += len(v.Text())
			if !g.field(at, c.Name, v.Kind()).add(first+int32(i), v) {
				g.loose = append(g.loose, loose{first + int32(i), c.Name, v})
			}
		}
	}
}

// needed returns the layout that the rows need. It moves the values of fields without a column to the
// loose values.
func (g *group) needed() *layout {
	var used []*field
	for _, f := range g.fields {
		if len(f.rows) > 0 {
			used = append(used, f)
		}
	}
	// If not all fields can have columns, the fields with the most values get them.
	slices.SortFunc(used, func(a, b *field) int {
		return cmp.Or(-cmp.Compare(len(a.rows), len(b.rows)), cmp.Compare(a.name, b.name))
	})
	types, lower, ids := map[string]fieldType{}, map[string]bool{}, map[int]bool{}
	for _, f := range used {
		if len(types) == maxColumns || lower[foldName(f.name)] || ids[fieldID(f.name)] {
			g.loosen(f)
			continue
		}
		types[f.name], lower[foldName(f.name)], ids[fieldID(f.name)] = f.neededType(), true, true
	}
	return newLayout(types, slices.ContainsFunc(g.ids, func(own ownID) bool { return own.id.Version() > 0 }))
}

// loosen moves all values of a field to the loose values.
func (g *group) loosen(f *field) {
	for i, row := range f.rows {
		g.loose = append(g.loose, loose{row, f.name, f.value(i)})
	}
	f.reset(f.kind)
}

// othersText returns the JSON object of the loose values of one row, sorted by name.
func othersText(values []loose) (string, error) {
	slices.SortFunc(values, func(a, b loose) int { return cmp.Compare(a.name, b.name) })
	text := []byte{'{'}
	for i := range values {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(values[i].name)
		if err != nil {
			return "", err
		}
		text = append(append(text, name...), ':')
		switch v := values[i].value; v.Kind() {
		case varve.KindString:
			quoted, err := json.Marshal(v.Text())
			if err != nil {
				return "", err
			}
			text = append(text, quoted...)
		case varve.KindBool:
			text = strconv.AppendBool(text, v.Bool())
		case varve.KindNumber:
			text = v.Number().Append(text)
		case varve.KindJSON:
			text = append(text, v.Text()...)
		default:
			return "", fmt.Errorf("field %q has no value", values[i].name)
		}
	}
	return string(append(text, '}')), nil
}
