package api

import (
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
		err := a.h.reads.inTurn(a.r.Context(), func() error {
			part, err := rows.NextPart(a.r.Context())
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
