package dynamosim

import (
	"math/bits"
	"slices"

	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/expr"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// listing has the filter and the projection of a query or a scan.
type listing struct {
	filter expr.Condition
	show   projection
}

func (r *request) listing() (l listing, err error) {
	if r.limit < 0 {
		return l, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", r.limit)
	}
	if r.filter != "" {
		if l.filter, err = expr.ParseCondition(expr.FilterText, r.filter, &r.scope); err != nil {
			return l, err
		}
	}
	if l.show, err = r.projection(); err != nil {
		return l, err
	}
	return l, r.scope.CheckUsed()
}

func (s *Server) query(r *request, out *jx.Writer) error {
	src, err := s.sourceOf(r)
	if err != nil {
		return err
	}
	if r.keyRange == "" {
		return invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	keys, err := expr.ParseKeyRange(r.keyRange, &r.scope, src.hash.name, src.sort.name)
	if err != nil {
		return err
	}
	l, err := r.listing()
	if err == nil {
		err = src.checkRange(keys)
	}
	if err == nil && l.filter != nil {
		err = src.checkFilter(r)
	}
	if err != nil {
		return err
	}
	hash := hashOf(keys.Hash.Text)
	now := s.options.Now()
	if err := src.units.admit(now, capacity.Read, hash); err != nil {
		return err
	}
	p := newPage(r)
	if err := src.queryPage(r, keys, hash, p); err != nil {
		return err
	}
	units := readUnits(p.bytes, r.consistent)
	src.units.consume(now, capacity.Read, hash, units)
	return src.answer(r, p, l, units, out)
}

// checkRange fails if a key condition has an empty partition key, or a value whose type differs
// from the type of its key.
func (src *source) checkRange(keys *expr.KeyRange) error {
	if keys.Hash.Kind != src.hash.kind {
		return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	if keys.Hash.Text == "" {
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", src.hash.name)
	}
	for _, v := range []*value.Value{keys.Low, keys.High, keys.Prefix} {
		if v != nil && v.Kind != src.sort.kind {
			return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
	}
	return nil
}

// checkFilter fails if the filter of a query uses a key.
func (src *source) checkFilter(r *request) error {
	for _, k := range src.attrs() {
		if expr.Mentions(r.filter, &r.scope, k.name) {
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", k.name)
		}
	}
	return nil
}

func (src *source) queryPage(r *request, keys *expr.KeyRange, hash uint64, p *page) error {
	var start *primary
	if r.start != nil {
		at, err := src.startOf(r.start)
		if err != nil {
			return err
		}
		if at.key != keys.Hash.Text {
			return invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
		start = &at
	}
	shard := src.data.shardOf(hash)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	c := shard.byKey[keys.Hash.Text]
	if c == nil {
		return nil
	}
	from, to := bounds(c, keys)
	if start != nil {
		at, found := c.search(start.at)
		if r.backward {
			to = min(to, at)
		} else {
			if found {
				at++
			}
			from = max(from, at)
		}
	}
	for i := from; i < to; i++ {
		e := &c.entries[i]
		if r.backward {
			e = &c.entries[to-1-(i-from)]
		}
		if !p.add(e.record) {
			break
		}
	}
	return nil
}

func (s *Server) scan(r *request, out *jx.Writer) error {
	src, err := s.sourceOf(r)
	if err != nil {
		return err
	}
	l, err := r.listing()
	if err != nil {
		return err
	}
	if r.segment < 0 || r.segment > 0 && r.segment >= r.segments {
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", r.segment, r.segments)
	}
	first, last := segmentOf(r.segment, max(r.segments, 1))
	var start *primary
	if r.start != nil {
		at, err := src.startOf(r.start)
		if err != nil {
			return err
		}
		start, first = &at, max(first, at.hash)
	}
	now := s.options.Now()
	if err := src.units.admit(now, capacity.Read, first); err != nil {
		return err
	}
	p := newPage(r)
	src.scanPage(start, first, last, p)
	units := readUnits(p.bytes, r.consistent)
	src.units.consume(now, capacity.Read, first, units)
	return src.answer(r, p, l, units, out)
}

// segmentOf returns the first and the last hash in a segment of a parallel scan.
func segmentOf(segment, segments int) (first, last uint64) {
	first, _ = bits.Div64(uint64(segment), 0, uint64(segments))
	if segment+1 == segments {
		return first, ^uint64(0)
	}
	next, _ := bits.Div64(uint64(segment)+1, 0, uint64(segments))
	return first, next - 1
}

// scanPage reads a page of a scan into p. It reads the items whose hashes are from first to last. If
// start is not nil, it begins after that item.
func (src *source) scanPage(start *primary, first, last uint64, p *page) {
	for i := first >> (64 - shardBits); i <= last>>(64-shardBits); i++ {
		shard := &src.data.shards[i]
		shard.mu.Lock()
		full := scanShard(shard, start, first, last, p)
		shard.mu.Unlock()
		if full {
			return
		}
	}
}

// scanShard adds the records of a shard to a page. It returns whether the page is full.
func scanShard(s *shard, start *primary, first, last uint64, p *page) (full bool) {
	sorted := s.inOrder()
	i, _ := slices.BinarySearchFunc(sorted, first, func(c *collection, hash uint64) int {
		if c.hash < hash {
			return -1
		}
		return 1
	})
	for _, c := range sorted[i:] {
		if c.hash > last {
			return false
		}
		from := 0
		if start != nil && c.hash == start.hash {
			if c.key < start.key {
				continue
			}
			if c.key == start.key {
				at, found := c.search(start.at)
				if from = at; found {
					from++
				}
			}
		}
		for j := from; j < len(c.entries); j++ {
			if !p.add(c.entries[j].record) {
				return true
			}
		}
	}
	return false
}

// answer writes the response to a query or a scan to out.
func (src *source) answer(r *request, p *page, l listing, units float64, out *jx.Writer) error {
	count := 0
	a := newAnswer(out)
	if r.selects != "COUNT" {
		a.field("Items")
		out.RawStr("[")
	}
	for _, rec := range p.records {
		if l.filter != nil {
			it, err := value.ParseItem(rec.data)
			if err != nil {
				return err
			}
			if !l.filter.Holds(it) {
				continue
			}
		}
		if count++; r.selects == "COUNT" {
			continue
		}
		if count > 1 {
			out.RawStr(",")
		}
		if err := l.show.append(rec, out); err != nil {
			return err
		}
	}
	if r.selects != "COUNT" {
		out.RawStr("]")
	}
	a.field("Count")
	out.Int(count)
	a.field("ScannedCount")
	out.Int(len(p.records))
	if p.more {
		key, err := src.keyOf(p.records[len(p.records)-1])
		if err != nil {
			return err
		}
		a.field("LastEvaluatedKey")
		key.Append(out)
	}
	if r.showsCapacity() {
		a.field("ConsumedCapacity")
		src.consumed(units).append(r.capacity, out)
	}
	a.end()
	return nil
}

func (src *source) consumed(units float64) consumed {
	if src.index == nil {
		return consumed{table: src.table, own: units}
	}
	c := consumed{table: src.table, indexes: make([]float64, len(src.table.indexes))}
	for i, ix := range src.table.indexes {
		if ix == src.index {
			c.indexes[i] = units
		}
	}
	return c
}
