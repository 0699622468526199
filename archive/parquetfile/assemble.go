package parquetfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// assembly forms blocks from the columns of a row group.
type assembly struct {
	layout  *layout
	columns []column
	exact   bool
}

// blocks returns one block per series.
func (a *assembly) blocks(rows int) (blocks []*block.Block, err error) {
	tenant, stream, device := a.columns[colTenant].texts, a.columns[colStream].texts, a.columns[colDevice].texts
	if len(tenant) != rows || len(stream) != rows || len(device) != rows || len(a.columns[colTime].ints) != rows || len(a.columns[colArrived].ints) != rows {
		return nil, fmt.Errorf("%w: a required column has no value", ErrMalformed)
	}
	for from := 0; from < rows; {
		to := from + 1
		for to < rows && device[to] == device[from] && stream[to] == stream[from] && tenant[to] == tenant[from] {
			to++
		}
		b := &block.Block{
			Series: varve.Series{Tenant: tenant[from], Stream: stream[from], Device: device[from]},
			Times:  a.columns[colTime].ints[from:to], Arrived: a.columns[colArrived].ints[from:to],
		}
		if err := a.fill(b, from, to); err != nil {
			return nil, fmt.Errorf("%w: series %s: %w", ErrMalformed, b.Series, err)
		}
		blocks = append(blocks, b)
		from = to
	}
	return blocks, nil
}

// fill adds ids and columns to a block, from the rows in [from, to).
func (a *assembly) fill(b *block.Block, from, to int) error {
	if err := a.fillIDs(b, from, to); err != nil {
		return err
	}
	if err := a.fillVersions(b, from, to); err != nil {
		return err
	}
	var written map[int][]int
	if a.exact {
		var err error
		if written, err = a.writtenDecimals(from, to); err != nil {
			return err
		}
	}
	for i, name := range a.layout.names {
		c := a.takeColumn(&a.columns[colFields+i], name, from, to)
		if c == nil {
			continue
		}
		var err error
		if t := a.layout.types[name]; t.kind == varve.KindNumber {
			err = a.fillNumbers(c, t, written)
		} else {
			c.Kind = t.kind
		}
		if err != nil {
			return err
		}
		b.Columns = append(b.Columns, *c)
	}
	return a.addOthers(b, from, to)
}

func (a *assembly) fillIDs(b *block.Block, from, to int) error {
	c := &a.columns[colID]
	for row := from; row < to; row++ {
		if !c.has(row) || c.count == 0 {
			continue
		}
		if b.IDs == nil {
			b.IDs = make([]varve.ID, to-from)
		}
		id, err := varve.ParseID(c.texts[c.next])
		if err != nil {
			return err
		}
		b.IDs[row-from] = id
		c.next++
	}
	return nil
}

func (a *assembly) fillVersions(b *block.Block, from, to int) error {
	if !a.layout.versioned {
		return nil
	}
	c := &a.columns[a.layout.versions()]
	for row := from; row < to; row++ {
		if !c.has(row) || c.count == 0 {
			continue
		}
		version := c.ints[c.next]
		c.next++
		if version < 1 || version > varve.MaxVersion || b.IDs == nil || b.IDs[row-from].IsZero() {
			return fmt.Errorf("version %d in row %d", version, row)
		}
		b.IDs[row-from] = b.IDs[row-from].WithVersion(uint32(version))
	}
	return nil
}

// takeColumn returns the values of the rows in [from, to) of a column, or nil if no row has one. It does
// not form numbers: fillNumbers does so later, from the coefficients in Coefs or the bytes in Bools.
func (a *assembly) takeColumn(c *column, name string, from, to int) *block.Column {
	out := &block.Column{Name: name}
	n := 0
	if len(c.defs) == 0 {
		n = to - from
	} else {
		for _, d := range c.defs[from:to] {
			n += int(d)
		}
	}
	if n == 0 || c.count == 0 {
		return nil
	}
	first := c.next
	c.next += n
	if n < to-from {
		out.Slots = make([]int32, to-from)
		at := int32(0)
		for i, d := range c.defs[from:to] {
			if out.Slots[i] = -1; d == 1 {
				out.Slots[i] = at
				at++
			}
		}
	}
	switch {
	case c.ints != nil:
		out.Coefs = c.ints[first : first+n]
	case c.bytes != nil:
		out.Wide = make([]varve.Number, n)
		out.Bools = c.bytes[first*wideBytes : (first+n)*wideBytes] // 16 bytes per number; fillNumbers moves the numbers to Wide
	case c.texts != nil:
		out.Texts = c.texts[first : first+n]
	default:
		out.Bools = make([]byte, (n+7)/8)
		for i := range n {
			if c.bools[(first+i)/8]>>((first+i)%8)&1 == 1 {
				out.Bools[i/8] |= 1 << (i % 8)
			}
		}
	}
	return out
}

// writtenDecimals returns, for each row of a range, how many digits after the point the sender wrote in each
// number. A list has only the numbers that have a column, in the order of the columns. It omits rows whose
// numbers all came in their shortest form. Key 0 of the map is the first row of the range.
func (a *assembly) writtenDecimals(from, to int) (map[int][]int, error) {
	c := &a.columns[a.layout.decimals()]
	var written map[int][]int
	for row := from; row < to; row++ {
		if c.count == 0 || !c.has(row) {
			continue
		}
		text := c.texts[c.next]
		c.next++
		var digits []int
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n > 200 {
				return nil, fmt.Errorf("decimals %q", text)
			}
			digits = append(digits, n)
		}
		if written == nil {
			written = map[int][]int{}
		}
		written[row-from] = digits
	}
	return written, nil
}

// fillNumbers forms the numbers of a column. If the argument "written" has decimals for a row, the
// number gets them. fillNumbers removes the decimals that it uses, so that each list begins with
// the decimals of the next column.
func (a *assembly) fillNumbers(c *block.Column, t fieldType, written map[int][]int) error {
	c.Kind = varve.KindNumber
	if c.Wide != nil {
		data := c.Bools
		c.Bools = nil
		for i := range c.Wide {
			n, err := parseWide(data[i*wideBytes:], t.scale)
			if err != nil {
				return err
			}
			c.Wide[i], _ = withExponent(n, shortestExponent(n))
		}
		return writeWide(c, written)
	}
	c.Least = int64(-t.scale)
	c.Most = c.Least
	if !a.exact {
		if c.Plain = len(c.Slots) == 0; !c.Plain {
			c.Exps = slices.Repeat([]int64{c.Least}, len(c.Coefs))
		}
		return nil
	}
	c.Exps = make([]int64, len(c.Coefs))
	for i, coef := range c.Coefs {
		exp := c.Least
		for ; exp < 0 && coef%10 == 0; exp++ {
			coef /= 10
		}
		c.Exps[i] = exp
		c.Most = max(c.Most, exp)
	}
	return writeNarrow(c, written)
}

// eachWritten calls the function "do" for each number of a column if the map "written" has its row.
// It passes the index of the number and the first element of the row's list, and removes that
// element.
func eachWritten(c *block.Column, written map[int][]int, do func(slot, digits int) error) error {
	for row, digits := range written {
		slot := row
		if len(c.Slots) > 0 {
			slot = int(c.Slots[row])
		}
		if slot < 0 {
			continue
		}
		if len(digits) == 0 {
			return fmt.Errorf("row %d has too few decimals", row)
		}
		if err := do(slot, digits[0]); err != nil {
			return err
		}
		written[row] = digits[1:]
	}
	return nil
}

func writeWide(c *block.Column, written map[int][]int) error {
	return eachWritten(c, written, func(slot, digits int) error {
		n, ok := withExponent(c.Wide[slot], -digits)
		if !ok {
			return fmt.Errorf("%s has no form with %d decimals", c.Wide[slot], digits)
		}
		c.Wide[slot] = n
		return nil
	})
}

// writeNarrow gives numbers of 64 bits the decimals that the map "written" has for their rows. If a
// number has more decimals than the column allows, writeNarrow moves all numbers of the column to
// Wide.
func writeNarrow(c *block.Column, written map[int][]int) error {
	var more map[int]int
	err := eachWritten(c, written, func(slot, digits int) error {
		if int64(-digits) < c.Least {
			if more == nil {
				more = map[int]int{}
			}
			more[slot] = digits
			return nil
		}
		if c.Coefs[slot] != 0 && int64(-digits) > c.Exps[slot] {
			return fmt.Errorf("a number has no form with %d decimals", digits)
		}
		c.Exps[slot] = int64(-digits)
		return nil
	})
	if err != nil || more == nil {
		return err
	}
	for i, coef := range c.Coefs {
		exp := int(c.Exps[i])
		power, _ := decimal.PowerOf10(int64(exp) - c.Least)
		n := decimal.FromScaled(coef/power, exp)
		if digits, ok := more[i]; ok {
			if n, ok = withExponent(n, -digits); !ok {
				return fmt.Errorf("a number has no form with %d decimals", digits)
			}
		}
		c.Wide = append(c.Wide, n)
	}
	c.Coefs, c.Exps = nil, nil
	return nil
}

// cell is the value of a field in one row of a block.
type cell struct {
	row   int
	value varve.Value
}

// addOthers adds the values in the column "others" to a block. These values do not fit into a column of their
// field. A block can have many such fields with few values each, so the map "cells" has entries for values,
// not for rows.
func (a *assembly) addOthers(b *block.Block, from, to int) error {
	c := &a.columns[a.layout.others()]
	cells := map[string][]cell{} // by name of the field, in the order of the rows
	for row := from; row < to && c.count > 0; row++ {
		if !c.has(row) {
			continue
		}
		text := c.texts[c.next]
		c.next++
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			return fmt.Errorf("others %.80q: %w", text, err)
		}
		for name, raw := range fields {
			v, err := looseValue(raw)
			if err != nil {
				return fmt.Errorf("others %.80q: field %q: %w", text, name, err)
			}
			cells[name] = append(cells[name], cell{row - from, v})
		}
	}
	for name, list := range cells {
		at, found := slices.BinarySearchFunc(b.Columns, name, func(c block.Column, name string) int { return strings.Compare(c.Name, name) })
		if !found {
			b.Columns = slices.Insert(b.Columns, at, block.Column{})
		}
		typed := b.Columns[at]
		b.Columns[at] = mixedColumn(name, to-from, func(row int) (v varve.Value) {
			if len(list) > 0 && list[0].row == row {
				v, list = list[0].value, list[1:]
			} else if found {
				v = typed.Value(row)
			}
			return v
		})
	}
	return nil
}

func looseValue(raw json.RawMessage) (varve.Value, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return varve.StringValue(s), err
	case 't', 'f':
		return varve.BoolValue(raw[0] == 't'), nil
	case '{', '[':
		return varve.CanonicalJSON(string(raw)), nil
	default:
		n, err := decimal.Parse(raw)
		return varve.NumberValue(n), err
	}
}

// mixedColumn returns a column with values of any kind. It calls the function "value" once for each row, in
// order. The zero Value means that a reading lacks the field.
func mixedColumn(name string, rows int, value func(row int) varve.Value) block.Column {
	c := block.Column{Name: name, Kinds: make([]byte, rows), Slots: make([]int32, rows)}
	bools := 0
	for i := range rows {
		v := value(i)
		c.Kinds[i] = byte(v.Kind())
		switch v.Kind() {
		case varve.KindNumber:
			c.Slots[i] = int32(len(c.Wide))
			c.Wide = append(c.Wide, v.Number())
		case varve.KindBool:
			c.Slots[i] = int32(bools)
			if bools%8 == 0 {
				c.Bools = append(c.Bools, 0)
			}
			if v.Bool() {
				c.Bools[bools/8] |= 1 << (bools % 8)
			}
			bools++
		case varve.KindString, varve.KindJSON:
			c.Slots[i] = int32(len(c.Texts))
			c.Texts = append(c.Texts, v.Text())
		default:
			c.Slots[i] = -1
		}
	}
	return c
}
