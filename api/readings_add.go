package api

import (
	"fmt"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// add adds a part of the answer: first the readings of its columns, then its other readings.
func (a *answer) add(part *query.Part) error {
	switch a.format {
	case wire.ColumnJSON:
		return a.addColumns(part)
	case wire.Arrow:
		return a.arrow.add(part)
	default:
	}
	for i := range part.Columns {
		p := &part.Columns[i]
		var missing string
		if a.out, missing = a.table.AppendPart(a.out, a.format, p, a.n == 0); missing != "" && len(a.q.Fields) == 0 {
			return lateField(missing)
		}
		a.n += p.Len()
	}
	readings := part.Readings
	for i := range readings {
		switch a.format {
		case wire.JSON:
			if a.n > 0 {
				a.out = append(a.out, ',')
			}
			a.out = append(a.out, '\n')
			a.out = a.table.AppendReading(a.out, &readings[i])
		case wire.NDJSON:
			a.out = append(a.table.AppendReading(a.out, &readings[i]), '\n')
		case wire.CSV:
			var missing string
			if a.out, missing = a.table.AppendRow(a.out, &readings[i]); missing != "" && len(a.q.Fields) == 0 {
				return lateField(missing)
			}
		case wire.ColumnJSON, wire.Arrow, wire.Line: // the first two have returned above; answers are never line protocol
		}
		a.n++
	}
	return nil
}

func (a *answer) addColumns(part *query.Part) error {
	for i := range part.Columns {
		if err := a.set.AddPart(&part.Columns[i]); err != nil {
			return err
		}
	}
	return a.set.Add(part.Readings)
}

func lateField(name string) error {
	return fmt.Errorf("field %q arrived while the answer was being written: ask again, or name the fields", name)
}
