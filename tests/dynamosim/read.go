package dynamosim

import (
	"math"
	"slices"
	"strings"

	"github.com/go-faster/jx"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/expr"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// maxPage is the largest total size of the items in a page of a query or a scan.
const maxPage = 1 << 20

// readUnits returns the units for reading a number of bytes. A read that is not consistent costs
// half as much.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}

func (s *Server) getItem(r *request, out *jx.Writer) error {
	t, err := s.usable(r.table)
	if err != nil {
		return err
	}
	if err := t.checkKey(r.key); err != nil {
		return err
	}
	show, err := r.projection()
	if err == nil {
		err = r.scope.CheckUsed()
	}
	if err != nil {
		return err
	}
	stored, units, err := s.readRecord(t, t.primaryOf(r.key), r.consistent)
	if err != nil {
		return err
	}
	a := newAnswer(out)
	if stored != nil {
		a.field("Item")
		if err := show.append(stored, out); err != nil {
			return err
		}
	}
	if r.showsCapacity() {
		a.field("ConsumedCapacity")
		consumed{table: t, own: units}.append(r.capacity, out)
	}
	a.end()
	return nil
}

// readRecord reads an item and charges the read. It returns nil if the item is missing.
func (s *Server) readRecord(t *table, at primary, consistent bool) (r *record, units float64, err error) {
	now := s.options.Now()
	if err := t.units.admit(now, capacity.Read, at.hash); err != nil {
		return nil, 0, err
	}
	shard := t.data.shardOf(at.hash)
	shard.mu.RLock()
	r = shard.find(at.key, at.at)
	shard.mu.RUnlock()
	size := 0
	if r != nil {
		size = r.size
	}
	units = readUnits(size, consistent)
	t.units.consume(now, capacity.Read, at.hash, units)
	return r, units, nil
}

// projection selects the parts of items that a request returns.
type projection []expr.Path // if nil, the request returns whole items

func (r *request) projection() (projection, error) {
	if r.projects == "" {
		return nil, nil
	}
	return expr.ParseProjection(r.projects, &r.scope)
}

func (p projection) append(r *record, out *jx.Writer) error {
	if p == nil {
		out.Raw(r.data)
		return nil
	}
	it, err := value.ParseItem(r.data)
	if err != nil {
		return err
	}
	expr.Project(it, p).Append(out)
	return nil
}

// source is the table or the index from which a query or a scan reads.
type source struct {
	*schema
	table *table
	index *index // if nil, the source is the table itself
	data  *keyspace
	units *throughput
}

// sourceOf returns the table or the index from which a request reads.
func (s *Server) sourceOf(r *request) (*source, error) {
	t, err := s.usable(r.table)
	if err != nil {
		return nil, err
	}
	if r.index == "" {
		return &source{schema: &t.schema, table: t, data: &t.data, units: &t.units}, nil
	}
	ix, err := t.indexNamed(r.index)
	if err != nil {
		return nil, err
	}
	if r.consistent {
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	}
	if r.selects == "ALL_ATTRIBUTES" && ix.projection != "ALL" {
		return nil, invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s "+
			"because its projection type is not ALL", ix.name)
	}
	return &source{schema: &ix.schema, table: t, index: ix, data: &ix.data, units: &ix.units}, nil
}

// keyNames returns the names of all keys that identify an item of the source.
func (src *source) keyNames() (names []string) {
	for _, attrs := range [][]keyAttr{src.attrs(), src.table.attrs()} {
		for _, k := range attrs {
			if !slices.Contains(names, k.name) {
				names = append(names, k.name)
			}
		}
	}
	return names
}

// startOf returns the key after which a query continues, given the start key of the request.
func (src *source) startOf(start value.Item) (primary, error) {
	names := src.keyNames()
	if len(start) != len(names) {
		return primary{}, invalid("The provided starting key is invalid")
	}
	for _, attrs := range [][]keyAttr{src.attrs(), src.table.attrs()} {
		for _, k := range attrs {
			if v := start.Get(k.name); v == nil || v.Kind != k.kind || v.Text == "" {
				return primary{}, invalid("The provided starting key is invalid")
			}
		}
	}
	if src.index == nil {
		return src.table.primaryOf(start), nil
	}
	v := src.index.view(src.table, start, nil)
	return primary{key: v.hash, hash: hashOf(v.hash), at: v.sortKey}, nil
}

// keyOf returns the keys of a record, with which a request can continue after the record.
func (src *source) keyOf(r *record) (value.Item, error) {
	it, err := value.ParseItem(r.data)
	if err != nil {
		return nil, err
	}
	var key value.Item
	for _, name := range src.keyNames() {
		key = key.Set(name, *it.Get(name))
	}
	return key, nil
}

// bounds returns the range of a collection's entries that a key range selects.
func bounds(c *collection, r *expr.KeyRange) (from, to int) {
	from, to = 0, len(c.entries)
	if r.Prefix != nil {
		low := r.Prefix.Text
		from = c.lower(low)
		n, _ := slices.BinarySearchFunc(c.entries[from:], low, func(e entry, p string) int {
			if strings.HasPrefix(e.sort, p) {
				return -1
			}
			return 1
		})
		return from, from + n
	}
	if r.Low != nil {
		low := r.Low.SortKey()
		if from = c.lower(low); r.LowOpen {
			from = c.upper(low)
		}
	}
	if r.High != nil {
		high := r.High.SortKey()
		if to = c.upper(high); r.HighOpen {
			to = c.lower(high)
		}
	}
	return from, max(from, to)
}

// lower returns the index of the first entry whose sort key is at least the given one.
func (c *collection) lower(sort string) int {
	i, _ := slices.BinarySearchFunc(c.entries, sort, func(e entry, s string) int { return strings.Compare(e.sort, s) })
	return i
}

// upper returns the index of the first entry whose sort key is greater than the given one.
func (c *collection) upper(sort string) int {
	i, _ := slices.BinarySearchFunc(c.entries, sort, func(e entry, s string) int {
		if e.sort <= s {
			return -1
		}
		return 1
	})
	return i
}

// page has the records of a page of a query or a scan, before the filter is applied.
type page struct {
	records []*record
	bytes   int
	limit   int // largest number of records in the page
	more    bool
}

func newPage(r *request) *page {
	p := &page{limit: r.limit}
	if p.limit == 0 {
		p.limit = math.MaxInt
	}
	return p
}

// add adds a record, unless the page would become too large. It reports whether the page has room
// for more records.
func (p *page) add(r *record) bool {
	if len(p.records) > 0 && p.bytes+r.size > maxPage {
		p.more = true
		return false
	}
	p.records = append(p.records, r)
	p.bytes += r.size
	p.more = len(p.records) >= p.limit
	return !p.more
}
