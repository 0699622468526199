package parquetfile

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// chunkRows is how many values of a column writeGroup passes to the Parquet writer per call. The writer
// ends a page only after such a chunk.
const chunkRows = 1 << 14

// writeGroup appends a row group to the current file. The layout of the file must cover the group.
func (b *Builder) writeGroup(g *group) error {
	columns := b.writer.ColumnWriters()
	write := func(column int, fill func(values []parquet.Value)) error {
		if cap(b.values) < g.rows() {
			b.values = make([]parquet.Value, g.rows(), max(g.rows(), b.opts.GroupRows))
		}
		values := b.values[:g.rows()]
		fill(values)
		for len(values) > 0 {
			n := min(len(values), chunkRows)
			if _, err := columns[column].WriteRowValues(values[:n]); err != nil {
				return err
			}
			values = values[n:]
		}
		return nil
	}
	for column, part := range []func(varve.Series) string{
		func(s varve.Series) string { return s.Tenant }, func(s varve.Series) string { return s.Stream }, func(s varve.Series) string { return s.Device },
	} {
		if err := write(column, func(values []parquet.Value) { g.fillNames(values, column, part) }); err != nil {
			return err
		}
	}
	for column, numbers := range map[int][]int64{colTime: g.times, colArrived: g.arrived} {
		if err := write(column, func(values []parquet.Value) {
			for i, n := range numbers {
				values[i] = parquet.Int64Value(n).Level(0, 0, column)
			}
		}); err != nil {
			return err
		}
	}
	if err := write(colID, g.fillIDs); err != nil {
		return err
	}
	for i, name := range b.layout.names {
		f := g.fields[name]
		if err := write(colFields+i, func(values []parquet.Value) { g.fillField(values, colFields+i, f, b.layout.types[name]) }); err != nil {
			return err
		}
	}
	others, err := g.othersTexts()
	if err != nil {
		return err
	}
	if err := write(b.layout.others(), func(values []parquet.Value) { fillTexts(values, b.layout.others(), others) }); err != nil {
		return err
	}
	decimals := g.decimalsTexts(b.layout)
	if err := write(b.layout.decimals(), func(values []parquet.Value) { fillTexts(values, b.layout.decimals(), decimals) }); err != nil {
		return err
	}
	if b.layout.versioned {
		if err := write(b.layout.versions(), func(values []parquet.Value) { g.fillVersions(values, b.layout.versions()) }); err != nil {
			return err
		}
	}
	return b.writer.Flush()
}

// fillNames fills a column with the tenant, the stream or the device of each row.
func (g *group) fillNames(values []parquet.Value, column int, part func(varve.Series) string) {
	for i, run := range g.runs {
		end := len(values)
		if i+1 < len(g.runs) {
			end = g.runs[i+1].from
		}
		v := textValue(part(run.series)).Level(0, 0, column)
		for at := run.from; at < end; at++ {
			values[at] = v
		}
	}
}

func (g *group) fillIDs(values []parquet.Value) {
	fillNull(values, colID)
	for _, own := range g.ids {
		values[own.row] = textValue(own.id.String()).Level(0, 1, colID)
	}
}

// fillVersions fills the column of versions, with null for original readings.
func (g *group) fillVersions(values []parquet.Value, column int) {
	fillNull(values, column)
	for _, own := range g.ids {
		if version := own.id.Version(); version > 0 {
			values[own.row] = parquet.Int64Value(int64(version)).Level(0, 1, column)
		}
	}
}

func fillNull(values []parquet.Value, column int) {
	null := parquet.NullValue().Level(0, 0, column)
	for i := range values {
		values[i] = null
	}
}

func fillTexts(values []parquet.Value, column int, texts map[int32]string) {
	fillNull(values, column)
	for row, text := range texts {
		values[row] = textValue(text).Level(0, 1, column)
	}
}

func textValue(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }

// fillField fills the column of a field. For a number that the column cannot hold, it writes null, and
// adds the number to the loose values.
func (g *group) fillField(values []parquet.Value, column int, f *field, t fieldType) {
	if f == nil || len(f.rows) < len(values) {
		fillNull(values, column)
	}
	if f == nil {
		return
	}
	for i, row := range f.rows {
		switch f.kind {
		case varve.KindNumber:
			v, ok := f.parquetNumber(i, t)
			if !ok {
				g.loose = append(g.loose, loose{row, f.name, f.value(i)})
				values[row] = parquet.NullValue().Level(0, 0, column)
				continue
			}
			values[row] = v.Level(0, 1, column)
		case varve.KindBool:
			values[row] = parquet.BooleanValue(f.bools[i]).Level(0, 1, column)
		default:
			values[row] = textValue(f.texts[i]).Level(0, 1, column)
		}
	}
}

// parquetNumber returns number i as a value of a column of type t, or false if the column cannot hold the
// number.
func (f *field) parquetNumber(i int, t fieldType) (parquet.Value, bool) {
	if t.precision() == narrowDigits {
		if len(f.wide) > 0 {
			return narrowOf(f.wide[i], t.scale)
		}
		// The type has room for every number in coefs, so the product does not overflow.
		power, ok := decimal.PowerOf10(int64(int(f.exps[i]) + t.scale))
		if !ok {
			return narrowOf(f.number(i), t.scale)
		}
		return parquet.Int64Value(f.coefs[i] * power), true
	}
	neg, hi, lo, ok := wideOf(f.number(i), t.scale)
	if !ok {
		return parquet.Value{}, false
	}
	return parquet.FixedLenByteArrayValue(appendWide(nil, neg, hi, lo)), true
}

// narrowOf returns n as a 64-bit coefficient: n = coefficient × 10^-scale. It returns false if n
// has more decimals than "scale", or if the coefficient has more than 18 digits.
func narrowOf(n varve.Number, scale int) (parquet.Value, bool) {
	neg, hi, lo, ok := wideOf(n, scale)
	if !ok || hi != 0 || lo >= 1e18 {
		return parquet.Value{}, false
	}
	if neg {
		return parquet.Int64Value(-int64(lo)), true
	}
	return parquet.Int64Value(int64(lo)), true
}

// othersTexts returns the JSON of the loose values, by row.
func (g *group) othersTexts() (map[int32]string, error) {
	byRow := map[int32][]loose{}
	for _, l := range g.loose {
		byRow[l.row] = append(byRow[l.row], l)
	}
	texts := make(map[int32]string, len(byRow))
	for row, values := range byRow {
		text, err := othersText(values)
		if err != nil {
			return nil, err
		}
		texts[row] = text
	}
	return texts, nil
}

// decimalsTexts returns the values of the column "decimals" by row. A value, such as 1,0,2, states
// how many digits each number of the row has after the point, except loose numbers. Rows without
// superfluous decimals have no value.
func (g *group) decimalsTexts(l *layout) map[int32]string {
	var long []bool
	for _, name := range l.names {
		f := g.fields[name]
		if f == nil || f.kind != varve.KindNumber {
			continue
		}
		for i, row := range f.rows {
			if f.isShort(i) {
				continue
			}
			if long == nil {
				long = make([]bool, g.rows())
			}
			long[row] = true
		}
	}
	if long == nil {
		return nil
	}
	loosened := map[looseKey]bool{}
	for _, v := range g.loose {
		loosened[looseKey{v.row, v.name}] = true
	}
	return g.joinDecimals(l, long, func(row int32, name string) bool { return len(loosened) > 0 && loosened[looseKey{row, name}] })
}

// joinDecimals returns the values of the column "decimals" by row, for decimalsTexts. Rows for which "long" is
// false have no value. The values omit loose numbers, which have no column. Equal values share their memory,
// because most rows of a device have the same value.
func (g *group) joinDecimals(l *layout, long []bool, isLoose func(row int32, name string) bool) map[int32]string {
	joined := make([][]byte, len(long)) // the text of each row
	for _, name := range l.names {
		f := g.fields[name]
		if f == nil || f.kind != varve.KindNumber {
			continue
		}
		for i, row := range f.rows {
			if !long[row] || isLoose(row, name) {
				continue
			}
			if len(joined[row]) > 0 {
				joined[row] = append(joined[row], ',')
			}
			joined[row] = strconv.AppendInt(joined[row], int64(f.decimals(i)), 10)
		}
	}
	texts, different := map[int32]string{}, map[string]string{}
	for row, b := range joined {
		if len(b) == 0 {
			continue
		}
		text, ok := different[string(b)]
		if !ok {
			text = string(b)
			different[text] = text
		}
		texts[int32(row)] = text
		joined[row] = nil
	}
	return texts
}

type looseKey struct {
	row  int32
	name string
}
