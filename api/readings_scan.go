package api

import (
	"context"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// columns sets the columns of an answer: the requested fields, or else all fields of its
// readings. To find all fields, it reads the whole answer first.
func (a *answer) columns() error {
	if len(a.q.Fields) > 0 {
		a.table.Versioned = a.q.Versions
		return nil
	}
	var set wire.FieldSet
	err := a.scan(func(p *query.Part) {
		for i := range p.Columns {
			set.AddPart(&p.Columns[i])
		}
		for i := range p.Readings {
			set.Add(&p.Readings[i])
		}
	})
	if err != nil {
		return err
	}
	a.table.SetColumns(&set)
	return nil
}

// scan calls the function "do" with each part of the whole answer, before any part is sent.
func (a *answer) scan(do func(*query.Part)) error {
	rows, err := a.h.query.Open(a.r.Context(), a.q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; {
		err := a.h.reads.inPausableTurn(a.r.Context(), func(ctx context.Context) error {
			part, err := rows.NextPart(ctx)
			if err == nil {
				do(&part)
			}
			more = !part.IsEnd()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
