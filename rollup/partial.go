package rollup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// Partial is the aggregate of a set of readings of one series.
type Partial struct {
	Readings int64   // number of readings, including readings without numbers
	Fields   []Field // fields that have numbers, sorted by name

	arrived      arrivals
	digest       uint64 // identifies the set of readings: the sum of their hashes
	fingerprints string // one fingerprint per reading, if the partial has at most maxFingerprints readings
	minutes      string // summaries by minute, if the partial has more readings
	// identified is the number of readings in the digest, if it differs from Readings; otherwise it
	// is 0.
	identified int64
	// replaces means that the partial counts the whole hour, so the hour's partials of earlier arrival days
	// do not count. In a partial of a daily roll-up, it means that this holds for one of the day's hours.
	replaces bool
	// uncorrected means that corrections arrived after readings of earlier arrival days were
	// deleted, so these corrections do not count.
	uncorrected bool
	copiesSeen  bool  // whether a recount found copies of readings that count in other slots
	parts       int64 // number of items in which the partial is stored after the first item
	partsRead   int64 // number of these further items that were parsed
}

// Field is the aggregate of the numbers of one field.
type Field struct {
	Name        string
	Count       int64
	Sum         decimal.Sum
	Min, Max    varve.Number
	First, Last Point
}

// Point is a number and the position of its reading.
type Point struct {
	At    varve.Position
	Value varve.Number
}

// Time returns the event time of the reading.
func (p *Point) Time() time.Time { return time.Unix(0, p.At.Time).UTC() }

func (f *Field) add(n varve.Number, at Point) {
	f.Sum.Add(n)
	f.widen(1, n, n, at, at)
}

// widen adds a count of numbers within the given bounds. Equal numbers may differ in trailing
// zeros, so bounds are stored without trailing zeros.
func (f *Field) widen(count int64, low, high varve.Number, first, last Point) {
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

// Field returns the aggregate of a field, or nil if the field had no numbers.
func (p *Partial) Field(name string) *Field {
	i, ok := slices.BinarySearchFunc(p.Fields, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return nil
	}
	return &p.Fields[i]
}

// isEmpty reports whether a recount found no readings and no copies.
func (p *Partial) isEmpty() bool { return p.identity().readings == 0 && !p.copiesSeen }

// checkComplete returns an error if a part of the partial is missing. Outside of dirty slots, this
// is damage.
func (p *Partial) checkComplete() error {
	if p.partsRead == p.parts {
		return nil
	}
	return fmt.Errorf("part %d of %d is missing", p.partsRead+1, p.parts)
}

// fieldSet is a set of field names. A nil set contains all names.
type fieldSet map[string]bool

// noFields contains no field. A recount with noFields identifies readings, but adds up no values.
var noFields = fieldSet{}

// fieldSetOf returns the set of the given names. Without names, the set contains all fields.
func fieldSetOf(names []string) (s fieldSet) {
	if len(names) > 0 {
		s = make(fieldSet, len(names))
	}
	for _, name := range names {
		s[name] = true
	}
	return s
}

func (s fieldSet) has(name string) bool { return s == nil || s[name] }

// Attributes of the items of a partial.
const (
	attrReadings     = "readings"
	attrFields       = "fields"
	attrParts        = "parts"
	attrDigest       = "digest"
	attrFingerprints = "prints"
	attrMinutes      = "minutes"
	attrArrived      = "arrived"
	attrIdentified   = "identified"
	attrReplaces     = "replaces"
	attrUncorrected  = "uncorrected"
)

// maxPartBytes is the largest number of bytes of fields in one item. DynamoDB allows items of 400
// KB.
const maxPartBytes = 300 << 10

// items encodes a partial as items with at most maxBytes of fields each; see fieldTexts. The items after
// the first one are called parts. The first item has the number of parts.
//
// Each field is a line of eleven columns. They are name, count, sum, min, max, and the time, id and
// value of the first and the last number. The separator is a tab, which names and ids cannot
// contain.
//
// The items need not be written in one request. A stored partial is only used where no marker covers
// it, and markers are deleted after all items are written. An earlier partial may have had more parts.
// Its last parts remain, and are ignored.
func (p *Partial) items(k store.Key, maxBytes int) []store.Item {
	texts := p.fieldTexts(maxBytes)
	first := store.Item{Key: k, Attrs: map[string]varve.Value{attrReadings: varve.IntValue(p.Readings)}}
	if p.identity().readings > 0 {
		first.Attrs[attrDigest] = varve.IntValue(int64(p.digest))
	}
	if p.identified > 0 {
		first.Attrs[attrIdentified] = varve.IntValue(p.identified)
	}
	if p.replaces {
		first.Attrs[attrReplaces] = varve.BoolValue(true)
	}
	if p.uncorrected {
		first.Attrs[attrUncorrected] = varve.BoolValue(true)
	}
	for name, text := range map[string]string{attrFields: texts[0], attrArrived: p.arrived.text(), attrFingerprints: p.fingerprints, attrMinutes: p.minutes} {
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

// fieldTexts returns the lines of the fields as texts of at most maxBytes each. A single line may
// be longer.
func (p *Partial) fieldTexts(maxBytes int) (texts []string) {
	var text []byte
	for i := range p.Fields {
		begin := len(text)
		if begin > 0 {
			text = append(text, '\n')
		}
		if text = p.Fields[i].appendTo(text); begin > 0 && len(text) > maxBytes {
			texts = append(texts, string(text[:begin]))
			text = append(text[:0], text[begin+1:]...)
		}
	}
	return append(texts, string(text))
}

func (f *Field) appendTo(dst []byte) []byte {
	dst = append(append(dst, f.Name...), '\t')
	dst = append(strconv.AppendInt(dst, f.Count, 10), '\t')
	dst = append(f.Sum.Append(dst), '\t')
	dst = append(f.Min.Append(dst), '\t')
	dst = append(f.Max.Append(dst), '\t')
	dst = append(f.First.appendTo(dst), '\t')
	return f.Last.appendTo(dst)
}

func (p *Point) appendTo(dst []byte) []byte {
	dst = append(strconv.AppendInt(dst, p.At.Time, 10), '\t')
	dst = append(p.At.ID.AppendKey(dst), '\t')
	return p.Value.Append(dst)
}

// parsePartial parses the first item of a partial. It parses only the fields in the given set.
func parsePartial(it *store.Item, only fieldSet) (*Partial, error) {
	p := &Partial{}
	var ok bool
	if p.Readings, ok = it.Attrs[attrReadings].Int(); !ok {
		return nil, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrReadings, it.Attrs[attrReadings])
	}
	p.identified, _ = it.Attrs[attrIdentified].Int()
	p.replaces, p.uncorrected = it.Attrs[attrReplaces].Bool(), it.Attrs[attrUncorrected].Bool()
	p.copiesSeen = p.Readings == 0
	p.arrived = parseArrivals(it.Attrs[attrArrived].Text())
	digest, _ := it.Attrs[attrDigest].Int()
	p.digest = uint64(digest)
	p.fingerprints, p.minutes = it.Attrs[attrFingerprints].Text(), it.Attrs[attrMinutes].Text()
	if v, found := it.Attrs[attrParts]; found {
		if p.parts, ok = v.Int(); !ok || p.parts < 1 {
			return nil, fmt.Errorf("item %s %s: %s is %s", it.PK, it.SK, attrParts, v)
		}
	}
	return p, p.parseFields(it, only)
}

// parsePart parses a further item of a partial. It ignores items that an earlier, longer partial
// left, and items after a missing one.
func (p *Partial) parsePart(it *store.Item, part int64, only fieldSet) error {
	if part > p.parts || part != p.partsRead+1 {
		return nil
	}
	p.partsRead = part
	return p.parseFields(it, only)
}

func (p *Partial) parseFields(it *store.Item, only fieldSet) error {
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
		c := columns{line: line}
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

// columns parses the columns of a line. It records the first error.
type columns struct {
	line string // columns that are not parsed yet
	err  error
}

func (c *columns) next() (text string) {
	text, c.line, _ = strings.Cut(c.line, "\t")
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
	id, err := varve.ParseKey(c.next())
	c.fail(err)
	p.At.ID, p.Value = id, c.number()
	return p
}
