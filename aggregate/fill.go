package aggregate

import (
	"maps"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// fillRows adds the rows of buckets without readings, and sets their values according to the
// query's Fill.
func (s *series) fillRows(device string) ([]Row, error) {
	if s.q.Fill == NoFill || len(s.rows) == 0 {
		return s.rows, nil
	}
	names := map[string]bool{}
	for i := range s.rows {
		for j := range s.rows[i].Fields {
			names[s.rows[i].Fields[j].Name] = true
		}
	}
	fields := slices.Sorted(maps.Keys(names))
	rows, err := s.allRows(device, fields)
	if err != nil {
		return nil, err
	}
	for i := range fields {
		for j, f := range s.q.Functions {
			switch {
			case f.isCount():
			case s.q.Fill == FillPrevious:
				fillPrevious(rows, i, j)
			case s.q.Fill == FillLinear:
				fillLinear(rows, i, j)
			}
		}
	}
	return rows, nil
}

// allRows returns the rows of all buckets in the window. Each row has all fields.
func (s *series) allRows(device string, fields []string) (rows []Row, err error) {
	start, end := s.rows[0].Start, s.rows[len(s.rows)-1].Start+1
	if all := varve.AllTime(); s.q.Window.From.After(all.From) {
		start = s.q.Window.From.Unix()
	}
	if all := varve.AllTime(); s.q.Window.To.Before(all.To) {
		end = s.q.Window.To.Unix()
		if s.q.Window.To.Nanosecond() > 0 {
			end++
		}
	}
	cells := max(len(fields), 1)
	for given := s.rows; start < end; {
		b := s.q.Step.BucketAt(start)
		row := Row{Device: device, Start: b.Start}
		if len(given) > 0 && given[0].Start == b.Start {
			row, given = given[0], given[1:]
		}
		if err := s.budget.addValues((cells - min(cells, len(row.Fields))) * len(s.q.Functions)); err != nil {
			return nil, err
		}
		row.Fields = s.allFields(row.Fields, fields)
		rows, start = append(rows, row), b.End
	}
	return rows, nil
}

// allFields returns the given fields of a row, and adds the missing ones. An added field has counts of 0,
// and no other values.
func (s *series) allFields(given []Field, names []string) []Field {
	if len(given) == len(names) {
		return given
	}
	fields := make([]Field, 0, len(names))
	for _, name := range names {
		if len(given) > 0 && given[0].Name == name {
			fields, given = append(fields, given[0]), given[1:]
			continue
		}
		f := Field{Name: name, Values: make([]Value, len(s.q.Functions))}
		for i, function := range s.q.Functions {
			if function.isCount() {
				f.Values[i] = numberValue(decimal.FromInt(0))
			}
		}
		fields = append(fields, f)
	}
	return fields
}

func fillPrevious(rows []Row, field, function int) {
	var last Value
	for i := range rows {
		v := &rows[i].Fields[field].Values[function]
		if v.IsNull() {
			*v = last
		}
		last = *v
	}
}

// fillLinear replaces missing values by values on the straight line between the nearest rows with
// values. On this line, a row is at the start of its bucket.
func fillLinear(rows []Row, field, function int) {
	from := -1
	for i := range rows {
		if rows[i].Fields[field].Values[function].IsNull() {
			continue
		}
		for j := from + 1; from >= 0 && j < i; j++ {
			a, b := rows[from].Fields[field].Values[function].sum(), rows[i].Fields[field].Values[function].sum()
			rows[j].Fields[field].Values[function] = longValue(a.Interpolate(b, rows[j].Start-rows[from].Start, rows[i].Start-rows[from].Start))
		}
		from = i
	}
}
