package dynamosim

import (
	"github.com/go-faster/jx"
)

// Limits of batches.
const (
	maxBatchWrites = 25
	maxBatchReads  = 100
	maxBatchBytes  = 16 << 20
)

// doubled is the error message for a batch in which a key occurs twice.
const doubled = "Provided list of item keys contains duplicates"

// batchWriteItem writes up to 25 items. It returns throttled writes as unprocessed, and fails if all are
// throttled.
func (s *Server) batchWriteItem(r *request, out *jx.Writer) error {
	tables, writes, err := s.checkWrites(r)
	if err != nil {
		return err
	}
	var throttle error
	all := make([]consumed, len(tables))
	unprocessed := make([][][]byte, len(tables))
	done := 0
	for i, t := range tables {
		all[i] = consumed{table: t, indexes: make([]float64, len(t.indexes))}
		for j := range writes[i] {
			res, err := writes[i][j].apply(s.options.Now())
			if err != nil {
				if asFailure(err).reason == "" {
					return err
				}
				throttle = err
				unprocessed[i] = append(unprocessed[i], r.batch[i].puts[j].raw)
				continue
			}
			done++
			all[i].own += res.units
			for k, n := range res.indexUnits {
				all[i].indexes[k] += n
			}
		}
	}
	if done == 0 && throttle != nil {
		return throttle
	}
	a := newAnswer(out)
	a.field("UnprocessedItems")
	appendUnprocessed(r, unprocessed, out)
	r.appendConsumed(a, all)
	a.end()
	return nil
}

// appendUnprocessed appends the raw requests that were not processed, by table.
func appendUnprocessed(r *request, unprocessed [][][]byte, out *jx.Writer) {
	rest := newAnswer(out)
	for i, raws := range unprocessed {
		if len(raws) == 0 {
			continue
		}
		rest.field(r.batch[i].name)
		for j, raw := range raws {
			out.RawStr([...]string{"[", ","}[min(j, 1)])
			out.Raw(raw)
		}
		out.RawStr("]")
	}
	rest.end()
}

// appendConsumed appends the consumed capacity of a batch, by table.
func (r *request) appendConsumed(a *answer, all []consumed) {
	if !r.showsCapacity() {
		return
	}
	a.field("ConsumedCapacity")
	a.out.RawStr("[")
	for i, c := range all {
		if i > 0 {
			a.out.RawStr(",")
		}
		c.append(r.capacity, a.out)
	}
	a.out.RawStr("]")
}

// checkWrites checks the writes of a batch. It returns the tables, and the writes to each of them.
func (s *Server) checkWrites(r *request) (tables []*table, writes [][]write, err error) {
	n := 0
	for i := range r.batch {
		t, err := s.usable(r.batch[i].name)
		if err != nil {
			return nil, nil, err
		}
		seen := map[primary]bool{}
		list := make([]write, len(r.batch[i].puts))
		for j := range list {
			b := &r.batch[i].puts[j]
			list[j] = write{table: t, put: b.item, deletes: b.item == nil}
			if b.item == nil {
				err = t.checkKey(b.key)
			} else if err = t.checkKeys(b.item); err == nil && b.item.Size() > maxItem {
				err = invalid("Item size has exceeded the maximum allowed size")
			}
			if err != nil {
				return nil, nil, err
			}
			if b.item == nil {
				list[j].at = t.primaryOf(b.key)
			} else {
				list[j].at = t.primaryOf(b.item)
			}
			if seen[list[j].at] {
				return nil, nil, invalid(doubled)
			}
			seen[list[j].at] = true
		}
		n += len(list)
		tables, writes = append(tables, t), append(writes, list)
	}
	if n == 0 {
		return nil, nil, invalid("1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if n > maxBatchWrites {
		return nil, nil, invalid("Too many items requested for the BatchWriteItem call")
	}
	return tables, writes, nil
}

// batchGetItem reads up to 100 items. It returns keys as unprocessed if their reads are throttled, or once
// the items of the answer exceed 16 MB. It fails if all reads are throttled.
func (s *Server) batchGetItem(r *request, out *jx.Writer) error {
	plans, err := s.checkReads(r)
	if err != nil {
		return err
	}
	var throttle error
	bytes, done := 0, 0
	all := make([]consumed, len(plans))
	a := newAnswer(out)
	a.field("Responses")
	responses := newAnswer(out)
	for i := range plans {
		p := &plans[i]
		all[i].table = p.table
		responses.field(p.name)
		out.RawStr("[")
		comma := ""
		for j, at := range p.at {
			if bytes > maxBatchBytes {
				p.rest = append(p.rest, j)
				continue
			}
			stored, units, err := s.readRecord(p.table, at, p.reads.consistent)
			if err != nil {
				throttle = err
				p.rest = append(p.rest, j)
				continue
			}
			done++
			all[i].own += units
			if stored == nil {
				continue
			}
			bytes += stored.size
			out.RawStr(comma)
			comma = ","
			if err := p.show.append(stored, out); err != nil {
				return err
			}
		}
		out.RawStr("]")
	}
	if done == 0 && throttle != nil {
		return throttle
	}
	responses.end()
	a.field("UnprocessedKeys")
	appendRest(plans, out)
	r.appendConsumed(a, all)
	a.end()
	return nil
}

// readPlan has the reads of a batch from one table.
type readPlan struct {
	*batchTable
	table *table
	show  projection
	at    []primary
	rest  []int // indexes of the keys in the field "at" that were not read
}

func (s *Server) checkReads(r *request) (plans []readPlan, err error) {
	n := 0
	for i := range r.batch {
		p := readPlan{batchTable: &r.batch[i]}
		if p.reads == nil {
			return nil, invalid("1 validation error detected: RequestItems must have keys")
		}
		if p.table, err = s.usable(p.name); err != nil {
			return nil, err
		}
		if p.show, err = p.reads.projection(); err != nil {
			return nil, err
		}
		seen := map[primary]bool{}
		for _, key := range p.keys {
			if err := p.table.checkKey(key); err != nil {
				return nil, err
			}
			at := p.table.primaryOf(key)
			if seen[at] {
				return nil, invalid(doubled)
			}
			seen[at] = true
			p.at = append(p.at, at)
		}
		n += len(p.at)
		plans = append(plans, p)
	}
	if n > maxBatchReads {
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}
	return plans, nil
}

// appendRest appends the keys that were not processed, by table.
func appendRest(plans []readPlan, out *jx.Writer) {
	rest := newAnswer(out)
	for i := range plans {
		p := &plans[i]
		if len(p.rest) == 0 {
			continue
		}
		rest.field(p.name)
		out.RawStr(`{"ConsistentRead":`)
		out.Bool(p.reads.consistent)
		out.RawStr(`,"Keys":`)
		for n, j := range p.rest {
			out.RawStr([...]string{"[", ","}[min(n, 1)])
			p.keys[j].Append(out)
		}
		out.RawStr("]}")
	}
	rest.end()
}
