package dynamosim

import (
	"slices"

	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/expr"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// prepare parses the condition of a write, and checks that all placeholders are used.
func (r *request) prepare(w *write) (err error) {
	if r.condition != "" {
		if w.condition, err = expr.ParseCondition(expr.ConditionText, r.condition, &r.scope); err != nil {
			return err
		}
	}
	w.showItem = r.returnsOnFailure == "ALL_OLD"
	return r.scope.CheckUsed()
}

// checkReturns fails unless ReturnValues is one of the allowed values.
func (r *request) checkReturns(allowed ...string) error {
	if r.returns == "" || r.returns == "NONE" || slices.Contains(allowed, r.returns) {
		return nil
	}
	return invalid("Return values set to invalid value")
}

func (s *Server) putItem(r *request, out *jx.Writer) error {
	t, err := s.usable(r.table)
	if err != nil {
		return err
	}
	if err := r.checkReturns("ALL_OLD"); err != nil {
		return err
	}
	w := write{table: t, put: r.item, needsOld: r.returns == "ALL_OLD"}
	if err := r.prepare(&w); err != nil {
		return err
	}
	if err := t.checkKeys(r.item); err != nil {
		return err
	}
	if r.item.Size() > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	w.at = t.primaryOf(r.item)
	return s.answerWrite(r, &w, nil, out)
}

func (s *Server) deleteItem(r *request, out *jx.Writer) error {
	t, err := s.usable(r.table)
	if err != nil {
		return err
	}
	if err := r.checkReturns("ALL_OLD"); err != nil {
		return err
	}
	w := write{table: t, deletes: true, needsOld: r.returns == "ALL_OLD"}
	if err := r.prepare(&w); err != nil {
		return err
	}
	if err := t.checkKey(r.key); err != nil {
		return err
	}
	w.at = t.primaryOf(r.key)
	return s.answerWrite(r, &w, nil, out)
}

func (s *Server) updateItem(r *request, out *jx.Writer) error {
	t, err := s.usable(r.table)
	if err != nil {
		return err
	}
	if err := r.checkReturns("ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"); err != nil {
		return err
	}
	w := write{table: t, key: r.key, needsOld: r.returns != ""}
	var paths []expr.Path
	if r.update != "" {
		if w.update, err = expr.ParseUpdate(r.update, &r.scope); err != nil {
			return err
		}
		paths = w.update.Paths()
		for _, p := range paths {
			if p[0].Name == t.hash.name || p[0].Name == t.sort.name {
				return invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p[0].Name)
			}
		}
	}
	if err := r.prepare(&w); err != nil {
		return err
	}
	if err := t.checkKey(r.key); err != nil {
		return err
	}
	w.at = t.primaryOf(r.key)
	return s.answerWrite(r, &w, paths, out)
}

func (s *Server) answerWrite(r *request, w *write, paths []expr.Path, out *jx.Writer) error {
	res, err := w.apply(s.options.Now())
	if err != nil {
		return err
	}
	var shown value.Item
	switch r.returns {
	case "ALL_OLD":
		shown = res.oldItem
	case "ALL_NEW":
		shown = res.newItem
	case "UPDATED_OLD":
		shown = expr.Project(res.oldItem, paths)
	case "UPDATED_NEW":
		shown = expr.Project(res.newItem, paths)
	}
	a := newAnswer(out)
	if len(shown) > 0 {
		a.field("Attributes")
		shown.Append(out)
	}
	if r.showsCapacity() {
		a.field("ConsumedCapacity")
		consumed{table: w.table, own: res.units, indexes: res.indexUnits}.append(r.capacity, out)
	}
	a.end()
	return nil
}

// answer appends the fields of a JSON object.
type answer struct {
	out   *jx.Writer
	comma bool
}

func newAnswer(out *jx.Writer) *answer {
	out.RawStr("{")
	return &answer{out: out}
}

func (a *answer) field(name string) {
	if a.comma {
		a.out.RawStr(",")
	}
	a.comma = true
	a.out.RawStr(`"`)
	a.out.RawStr(name)
	a.out.RawStr(`":`)
}

func (a *answer) end() { a.out.RawStr("}") }

func (r *request) showsCapacity() bool { return r.capacity != "" && r.capacity != "NONE" }

// consumed has the consumed capacity of a request in one table.
type consumed struct {
	table   *table
	own     float64
	indexes []float64 // consumed units of each index; nil if the request used no index
}

// append appends the JSON of the consumed capacity. If detail is INDEXES, the JSON has the total, the
// units of the table, and the units of each index that consumed any. Otherwise it has only the total.
func (c consumed) append(detail string, out *jx.Writer) {
	total := c.own
	for _, n := range c.indexes {
		total += n
	}
	out.RawStr(`{"TableName":`)
	out.Str(c.table.name)
	out.RawStr(`,"CapacityUnits":`)
	out.Float64(total)
	if detail == "INDEXES" {
		out.RawStr(`,"Table":{"CapacityUnits":`)
		out.Float64(c.own)
		out.RawStr(`}`)
		comma := `,"GlobalSecondaryIndexes":{`
		for i, n := range c.indexes {
			if n > 0 {
				out.RawStr(comma)
				out.Str(c.table.indexes[i].name)
				out.RawStr(`:{"CapacityUnits":`)
				out.Float64(n)
				out.RawStr(`}`)
				comma = ","
			}
		}
		if comma == "," {
			out.RawStr(`}`)
		}
	}
	out.RawStr(`}`)
}
