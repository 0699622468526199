package writer

import (
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/cache"
	"github.com/varvedb/varve/store/dynamo/row"
)

const (
	// maxClosedRows and maxClosedBytes limit the cache of closed rows.
	maxClosedRows  = 10_000
	maxClosedBytes = 8 << 20
	// closedFor is how long a row is cached. It is short, because another process may drop and
	// recreate the table of the row.
	closedFor = 10 * time.Minute
	// closedRowBytes approximates the memory of a cached row without its keys, and closedKeyBytes
	// the memory of a key without its text.
	closedRowBytes = 300
	closedKeyBytes = 56
)

// closedRows caches the keys of closed rows. If readings belong below a cached row, the writer
// sends no request for that row. Such a request would cost as much as a write of the whole row.
// Only an erasure changes a closed row. The job of an erasure ends only when no process uses an older
// copy; see ErasureDelay.
type closedRows struct {
	rows *cache.Cache[row.Address, contents]
}

func newClosedRows() closedRows {
	return closedRows{cache.New[row.Address, contents](cache.Limits{Entries: maxClosedRows, Size: maxClosedBytes, Age: closedFor})}
}

// get returns the contents of a row if it is cached as closed, otherwise nil.
func (c *closedRows) get(at row.Address) contents {
	keys, _ := c.rows.Get(at)
	return keys
}

// drops returns the number of drops so far. Callers read it before they request a row, and pass it to
// put with the row.
func (c *closedRows) drops() int { return c.rows.Drops() }

// put adds a row if the row is closed. It does nothing if rows were dropped since the caller read
// the number of drops.
func (c *closedRows) put(drops int, at row.Address, r *row.Row) {
	if r.Bytes < closedBytes {
		return
	}
	keys, size := contentsOf(r), closedRowBytes
	for key := range keys {
		size += closedKeyBytes + len(key)
	}
	c.rows.PutSince(drops, time.Now(), at, keys, size)
}

// drop removes all rows of a table that is missing or recreated.
func (c *closedRows) drop(t grid.Table) {
	c.rows.DropIf(func(at row.Address) bool { return at.Table == t })
}

// contents are hashes of the fields of a row's readings, by key. The hash of a reading is 0 if the
// id of the reading is already a hash of its fields. It is also 0 if the hash is unknown, because
// DynamoDB did not return all attributes of the row.
type contents map[string]uint64

func contentsOf(r *row.Row) contents {
	c := make(contents, len(r.Keys))
	for key := range r.Keys {
		c[key] = 0
		_, id, _ := row.ParseKey(key)
		if _, hashed := id.Hash(); hashed || !r.Whole {
			continue
		}
		if reading, err := r.Reading(varve.Series{}, 0, key); err == nil { // damage is found later, by the request for the row
			c[key], _ = reading.ContentID().Hash()
		}
	}
	return c
}

// canJudge reports whether the verdicts of entries are known without a request. They are known if
// each entry whose key is in the row is certainly a duplicate.
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

// removeStored sets the verdict of entries whose keys are in the row to duplicate, and returns
// the other entries.
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
