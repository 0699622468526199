package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

func (c *Columns) isNull(cell []byte) bool {
	return len(c.Nulls) > 0 && slices.ContainsFunc(c.Nulls, func(null string) bool { return string(cell) == null })
}

// addField adds a cell as a field. If the cell is invalid, it returns a verdict that rejects the
// reading. If bad cells are skipped, it counts the cell instead.
func (c *csvReader) addField(b *Batch, name string, cell []byte, kind varve.Kind) (v varve.Verdict) {
	value, err := c.cellValue(cell, kind)
	switch {
	case err == nil:
		b.field(name, value)
		if kind == 0 && value.Kind() == varve.KindString && looksLikeNumber(cell) {
			b.TextNumbers++
		}
	case c.SkipBadCells:
		b.SkippedCells++
	default:
		v = varve.Reject(varve.CodeFieldInvalid, "field %s: %s", clip(name), err)
	}
	return v
}

// cellValue returns the value of a cell in which numbers may have a decimal comma.
func (c *csvReader) cellValue(cell []byte, kind varve.Kind) (varve.Value, error) {
	if c.Decimal != ',' || kind != 0 && kind != varve.KindNumber {
		return cellValue(cell, kind)
	}
	if _, err := cellNumber(cell); err == nil && bytes.IndexByte(cell, '.') >= 0 {
		return varve.Value{}, fmt.Errorf("%s has a point: with decimal=, numbers have a comma", clip(string(cell)))
	}
	if looksLikeNumber(cell) && bytes.IndexByte(cell, '.') >= 0 {
		return varve.Value{}, fmt.Errorf("%s has both separators: thousands separators are not read, omit them", clip(string(cell)))
	}
	if bytes.Count(cell, []byte{','}) != 1 || bytes.IndexByte(cell, '.') >= 0 {
		return cellValue(cell, kind)
	}
	n, err := cellNumber(bytes.Replace(cell, []byte{','}, []byte{'.'}, 1))
	switch {
	case err == nil:
		return varve.NumberValue(n), nil
	case kind == varve.KindNumber || !errors.Is(err, decimal.ErrSyntax):
		return varve.Value{}, fmt.Errorf("%s: %w", clip(string(cell)), err)
	}
	return cellValue(cell, kind)
}

// looksLikeNumber reports whether a cell has only digits, points and commas, with a comma among
// them and digits at both ends. A sign may precede them.
func looksLikeNumber(cell []byte) bool {
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		cell = cell[1:]
	}
	isDigit := func(c byte) bool { return c-'0' <= 9 }
	n := len(cell)
	return n > 2 && isDigit(cell[0]) && isDigit(cell[n-1]) && bytes.IndexByte(cell, ',') > 0 && len(bytes.Trim(cell, "0123456789.,")) == 0
}

// cellValue returns the value of a cell. If kind is 0, the text determines the kind.
func cellValue(cell []byte, kind varve.Kind) (varve.Value, error) {
	switch kind {
	case varve.KindNumber:
		n, err := cellNumber(cell)
		if err != nil {
			return varve.Value{}, fmt.Errorf("%s: %w", clip(string(cell)), err)
		}
		return varve.NumberValue(n), nil
	case varve.KindString:
		return textValue(string(cell))
	case varve.KindBool:
		if t := string(cell); t != "true" && t != "false" {
			return varve.Value{}, fmt.Errorf("%s is neither true nor false", clip(t))
		}
		return varve.BoolValue(cell[0] == 't'), nil
	case varve.KindJSON:
		return metadata(cell)
	}
	return guess(cell)
}

func guess(cell []byte) (varve.Value, error) {
	switch c := cell[0]; {
	case c == '{' || c == '[':
		if v, err := metadata(cell); err == nil {
			return v, nil
		}
	case c-'0' <= 9 || c == '-' || c == '+' || c == '.':
		n, err := cellNumber(cell)
		if err == nil {
			return varve.NumberValue(n), nil
		}
		if !errors.Is(err, decimal.ErrSyntax) {
			return varve.Value{}, fmt.Errorf("%s: %w", clip(string(cell)), err)
		}
	}
	s := string(cell)
	switch {
	case s == "true" || s == "false":
		return varve.BoolValue(s == "true"), nil
	case isNaN(s):
		return varve.Value{}, fmt.Errorf("%s is not a number that can be stored: leave the cell empty, or send null=%s", s, s)
	}
	return textValue(s)
}

// cellNumber parses a number in a wider syntax than JSON: it accepts "+5", ".5" and "5." too. It
// rejects "007", because such text is a name.
func cellNumber(cell []byte) (varve.Number, error) {
	n, err := decimal.Parse(cell)
	if !errors.Is(err, decimal.ErrSyntax) {
		return n, err
	}
	s, sign := string(cell), ""
	if s[0] == '+' || s[0] == '-' {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	if s == "" || s[0] == '+' || s[0] == '-' || s == "." {
		return n, err
	}
	if s[0] == '.' {
		s = "0" + s
	}
	return decimal.Parse(sign + strings.TrimSuffix(s, "."))
}

// isNaN reports whether a cell is a common spelling of an undefined or infinite number.
func isNaN(cell string) bool {
	switch strings.ToLower(strings.TrimLeft(cell, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}
