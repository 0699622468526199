package rollup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// Attributes of a partial's items.
const (
	attrReadings = "readings"
	attrFields   = "fields"
	attrParts    = "parts"
	attrDigest   = "digest"
	attrPrints   = "prints"
	attrMinutes  = "minutes"
)

// partBytes is how many bytes of fields an item has at most: DynamoDB's have
// 400 KB.
const partBytes = 300 << 10

// items returns a partial as items, each with at most so many bytes of fields:
// the first, which says how many parts there are beyond it, and the parts.
// Fields are a line each, of eleven columns between tabs, which no name and no
// id has: name, count, sum, min, max, and time, id and value of the first and of
// the last.
//
// They need not be written at once. What is at rest is only looked at where no
// mark covers it, and marks go when all items are there. Parts of an earlier
// count that the first item does not name any more stay, and are not looked at.
func (p *Partial) items(k store.Key, most int) []store.Item {
	texts := p.texts(most)
	first := store.Item{Key: k, Attrs: map[string]varve.Value{attrReadings: varve.IntValue(p.Readings)}}
	if p.Readings > 0 {
		first.Attrs[attrDigest] = varve.IntValue(int64(p.digest))
	}
	for name, text := range map[string]string{attrFields: texts[0], attrPrints: p.prints, attrMinutes: p.minutes} {
		if text != "" {
			first.Attrs[name] = varve.StringValue(text)
		}
	}
	if len(texts) == 1 {
		return []store.Item{first}
	}
	first.Attrs[attrParts] = varve.IntValue(int64(len(texts) - 1))
	items := []store.Item{first}
	for i, text := range texts[1:] {
		items = append(items, store.Item{Key: partKey(k, i+1), Attrs: map[string]varve.Value{attrFields: varve.StringValue(text)}})
	}
	return items
}

// texts returns the fields' lines, in texts of at most so many bytes; a line may
// be longer.
func (p *Partial) texts(most int) (texts []string) {
	var text []byte
	for i := range p.Fields {
		begin := len(text)
		if begin > 0 {
			text = append(text, '\n')
		}
		if text = p.Fields[i].append(text); begin > 0 && len(text) > most {
			texts = append(texts, string(text[:begin]))
			text = append(text[:0], text[begin+1:]...)
		}
	}
	return append(texts, string(text))
}

func (f *Field) append(dst []byte) []byte {
	dst = append(append(dst, f.Name...), '\t')
	dst = append(strconv.AppendInt(dst, f.Count, 10), '\t')
	dst = append(f.Sum.Append(dst), '\t')
	dst = append(f.Min.Append(dst), '\t')
	dst = append(f.Max.Append(dst), '\t')
	dst = append(f.First.append(dst), '\t')
	return f.Last.append(dst)
}

func (p *Point) append(dst []byte) []byte {
	dst = append(strconv.AppendInt(dst, p.At.Time, 10), '\t')
	dst = append(p.At.ID.Append(dst), '\t')
	return p.Value.Append(dst)
}

// parsePartial reads the first of the items that a partial was written as: only
// the wanted fields.
func parsePartial(it *store.Item, only wanted) (*Partial, error) {
	p := &Partial{}
	var ok bool
	if p.Readings, ok = it.Attrs[attrReadings].Int(); !ok {
		return nil, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrReadings, it.Attrs[attrReadings])
	}
	p.again = p.Readings == 0
	digest, _ := it.Attrs[attrDigest].Int()
	p.digest = uint64(digest)
	p.prints, p.minutes = it.Attrs[attrPrints].Text(), it.Attrs[attrMinutes].Text()
	if v, some := it.Attrs[attrParts]; some {
		if p.parts, ok = v.Int(); !ok || p.parts < 1 {
			return nil, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrParts, v)
		}
	}
	return p, p.parseFields(it, only)
}

// parsePart reads the next part of a partial, if it is one of its parts.
func (p *Partial) parsePart(it *store.Item, part int64, only wanted) error {
	if part > p.parts || part != p.read+1 {
		return nil
	}
	p.read = part
	return p.parseFields(it, only)
}

func (p *Partial) parseFields(it *store.Item, only wanted) error {
	text := it.Attrs[attrFields].Text()
	if text == "" {
		return nil
	}
	lines := strings.Count(text, "\n") + 1
	if only != nil {
		lines = min(lines, len(only))
	}
	p.Fields = slices.Grow(p.Fields, lines)
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
			return fmt.Errorf("item %s %s: %s: line %q: %w", it.PK, it.SK, attrFields, line, c.err)
		}
		p.Fields = append(p.Fields, f)
	}
	return nil
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
	n, err := decimal.Parse(c.next())
	c.fail(err)
	return n
}

func (c *columns) decimal() decimal.Sum {
	d, err := decimal.ParseSum(c.next())
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

// rest is partials at rest, of hours or of days, put together from their items.
// Those of dirty slots may lack parts.
type rest map[slot]*Partial

// take takes an item, in the order of the keys, with its wanted fields.
func (m rest) take(it *store.Item, at slot, part int64, only wanted) (err error) {
	if part == 0 {
		m[at], err = parsePartial(it, only)
		return err
	}
	if p := m[at]; p != nil {
		return p.parsePart(it, part, only)
	}
	return nil
}

// whole fails if parts of a partial were not there. They are, of all that is not
// dirty: else something is damaged.
func (p *Partial) whole() error {
	if p.read == p.parts {
		return nil
	}
	return fmt.Errorf("of its partial, part %d of %d is missing", p.read+1, p.parts)
}

// hours returns the partials of a span's hours, with the wanted fields.
func (r *records) hours(ctx context.Context, s varve.Series, h span, only wanted) (rest, error) {
	found := rest{}
	q := store.ItemQuery{PK: pkOf(s), From: hourFrom(h.from), To: hourFrom(h.to), Consistent: true}
	err := r.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err != nil {
			return err
		}
		return found.take(it, at, part, only)
	})
	return found, err
}

// hourFrom is where the partials from an hour on begin, and dayFrom those from a
// day on.
func dayFrom(day int64) string { return "D#" + dayText(day) }

func hourFrom(hour int64) string { return fmt.Sprintf("H#%010d", hour*hourSeconds) }
