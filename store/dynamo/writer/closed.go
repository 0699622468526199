package writer

import (
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo/cache"
	"github.com/varvedb/varve/store/dynamo/row"
)

const (
	// maxClosedRows and maxClosedBytes bound the cache of closed rows.
	maxClosedRows  = 10_000
	maxClosedBytes = 8 << 20
	// closedFor is the time for which a row is cached. Another process may drop the table and
	// recreate it meanwhile.
	closedFor = 10 * time.Minute
	// closedRowBytes and closedKeyBytes are the approximate memory of a row and of a key, besides
	// their texts.
	closedRowBytes = 300
	closedKeyBytes = 56
)

// closedRows caches the keys of closed rows. Readings that belong below a cached row need no
// request for it, which would cost as much as a write of the whole row. A closed row never
// changes, so the cache is exact.
type closedRows struct {
	rows *cache.Cache[row.Address, contents]
}

func newClosedRows() closedRows {
	return closedRows{cache.New[row.Address, contents](cache.Limits{Entries: maxClosedRows, Size: maxClosedBytes, Age: closedFor})}
}

// get returns the contents of a row that is known to be closed, or nil.
func (c *closedRows) get(at row.Address) contents {
	keys, _ := c.rows.Get(at)
	return keys
}

// epoch returns the number that put needs. It is read before the row is requested.
func (c *closedRows) epoch() int { return c.rows.Epoch() }

// put adds a row if it is closed, and no table was dropped since the epoch.
func (c *closedRows) put(epoch int, at row.Address, r *row.Row) {
	if r.Bytes < closedBytes {
		return
	}
	keys, size := contentsOf(r), closedRowBytes
	for key := range keys {
		size += closedKeyBytes + len(key)
	}
	c.rows.PutSince(epoch, time.Now(), at, keys, size)
}

// drop removes all rows of a table, which is missing or recreated.
func (c *closedRows) drop(t grid.Table) {
	c.rows.DropIf(func(at row.Address) bool { return at.Table == t })
}

// contents are the hashes of the fields of a row's readings, by key. 0 means that the hash
// is unknown: the id replaces it, or the row was not seen whole.
type contents map[string]uint64

// contentsOf returns the contents of a row.
func contentsOf(r *row.Row) contents {
	c := make(contents, len(r.Keys))
	for key := range r.Keys {
		c[key] = 0
		_, id, _ := row.ParseKey(key)
		if _, hashed := id.Hash(); hashed || !r.Whole {
			continue
		}
		if reading, err := r.Reading(varve.Series{}, 0, key); err == nil { // else a request to the row reports the damage
			c[key], _ = reading.ContentID().Hash()
		}
	}
	return c
}

// canJudge reports whether the verdicts of entries are known without a request: each one
// that the row holds is a duplicate for certain.
func (c contents) canJudge(entries []row.Entry) bool {
	for i := range entries {
		hash, exists := c[entries[i].Key]
		if !exists {
			continue
		}
		content := entries[i].Reading.ContentID()
		if sent, _ := content.Hash(); content != entries[i].Reading.ID && (hash == 0 || hash != sent) {
			return false
		}
	}
	return true
}

// removeStored marks the entries that the row holds as duplicates, and returns the others.
func (c contents) removeStored(entries []row.Entry) (rest []row.Entry) {
	for _, e := range entries {
		if _, exists := c[e.Key]; exists {
			*e.Verdict = varve.Verdict{Outcome: varve.Duplicate}
		} else {
			rest = append(rest, e)
		}
	}
	return rest
}
