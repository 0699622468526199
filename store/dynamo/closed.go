package dynamo

import (
	"container/list"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

const (
	// closedRowsMost and closedBytesMost bound what is remembered of closed
	// rows.
	closedRowsMost  = 10_000
	closedBytesMost = 8 << 20
	// closedFor is how long a row is remembered: another process may have
	// dropped the table meanwhile, and made it again.
	closedFor = 10 * time.Minute
	// What a row and a key take in memory besides their texts, about.
	closedRowBytes = 300
	closedKeyBytes = 56
)

// closedRows remembers the keys of closed rows, those used last: what belongs
// below them need not ask them, which would cost what each of them has cost in
// writing. A closed row never changes, so what it is known to hold it holds.
type closedRows struct {
	mu    sync.Mutex
	rows  map[rowAt]*list.Element // of *closedRow
	used  list.List               // the last used first
	bytes int
	epoch int // raised by forget
}

// rowAt is where a row is.
type rowAt struct {
	table  grid.Table
	series varve.Series
	shard  int
	place  place
}

type closedRow struct {
	at     rowAt
	keys   contents
	bytes  int
	learnt time.Time
}

// contents are the hashes of readings' fields, by key. 0 means that the hash is
// not known: the id stands for it, or the row was not seen as a whole.
type contents map[string]uint64

// contentsOf returns what a row holds that is known to be closed; nil if it is
// not.
func (c *closedRows) contentsOf(at rowAt) contents {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.rows[at]
	if !ok {
		return nil
	}
	r := e.Value.(*closedRow) //nolint:forcetypeassert // there is nothing else in it
	if time.Since(r.learnt) > closedFor {
		c.remove(e)
		return nil
	}
	c.used.MoveToFront(e)
	return r.keys
}

// now returns the epoch that learn must be given back.
func (c *closedRows) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// learn remembers a row if it is closed, and no table has gone since the epoch
// in which it was asked for.
func (c *closedRows) learn(epoch int, at rowAt, r *row) {
	if r.bytes < closedBytes {
		return
	}
	keys, size := r.contents(), closedRowBytes
	for key := range keys {
		size += closedKeyBytes + len(key)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if e, ok := c.rows[at]; ok {
		c.remove(e)
	}
	if c.rows == nil {
		c.rows = map[rowAt]*list.Element{}
	}
	c.rows[at] = c.used.PushFront(&closedRow{at: at, keys: keys, bytes: size, learnt: time.Now()})
	for c.bytes += size; len(c.rows) > closedRowsMost || c.bytes > closedBytesMost; {
		c.remove(c.used.Back())
	}
}

// forget forgets all rows of a table, which is gone or new.
func (c *closedRows) forget(t grid.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for at, e := range c.rows {
		if at.table == t {
			c.remove(e)
		}
	}
}

// remove removes a row. The lock is held.
func (c *closedRows) remove(e *list.Element) {
	r := c.used.Remove(e).(*closedRow) //nolint:forcetypeassert // there is nothing else in it
	delete(c.rows, r.at)
	c.bytes -= r.bytes
}
