package local

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/grid"
)

// The catalog consists of the tables, with their holds and states, and of the counters for the
// numbers of tables and chunks. It is stored in Pebble and in a pair of files, because a hold must
// survive damage to either. A change is acknowledged when both have it. Each change has a new
// generation. If the two differ, the newer generation counts.

// catalogFile is the name of the first file of the pair. The second one is its copy; see pair.go.
const catalogFile = "CATALOG"

// catalogRecord is the content of the pair of files.
type catalogRecord struct {
	Tables    map[string]tableRecord `json:"tables"`
	NextTable uint32                 `json:"next_table"`
	LastChunk uint64                 `json:"next_chunk"`
}

// chunksLost is added to the last known chunk number if the counter in Pebble was lost. So no chunk
// number is used twice.
const chunksLost = 1 << 40

// catalog changes the tables in Pebble, in memory and in CATALOG.
type catalog struct {
	db         *database
	mem        *memory
	changes    *changeLog
	quarantine *quarantine

	// mu serializes changes of tables and chunks in Pebble. It guards the next four fields.
	mu         sync.Mutex
	generation uint64  // generation of the catalog after the last change
	unsaved    bool    // whether the file CATALOG lacks the last change
	nextTable  uint32  // number of the table that is created next
	last       *change // the last change, if its outcome is open; otherwise nil

	lastChunk atomic.Uint64 // number of the last chunk that was written
}

// load reads the catalog from Pebble, or from CATALOG if Pebble has lost a part of it or has an
// older generation. If a lost part is restored from an older CATALOG, load calls replay to apply
// the changes in the journal to it. At the end, load makes CATALOG equal to Pebble, and recounts lost
// statistics. If Pebble has lost a part and CATALOG cannot be read, load only recounts.
func (c *catalog) load(replay func() error) error {
	found, err := c.read()
	if err != nil {
		return err
	}
	generation, body, err := c.db.folder.readPair(catalogFile)
	if err != nil && !found.lost {
		c.db.opts.Events.Damaged(c.db.folder.path(catalogFile), err)
	}
	c.generation = max(generation, found.generation, 1)
	switch {
	case generation == 0 && found.lost:
		return c.recountStats() // the catalog in Pebble and CATALOG are lost, so requests that need them are refused
	case found.lost || generation > found.generation:
		if err := c.adoptCopy(body, found); err != nil {
			return err
		}
		if generation < found.generation {
			if err := replay(); err != nil {
				return err
			}
			if _, err := c.read(); err != nil {
				return err
			}
		}
		err = c.save()
	case generation < found.generation || generation == 0:
		err = c.save()
	}
	return errors.Join(err, c.recountStats())
}

type foundCatalog struct {
	generation uint64
	lost       bool // whether a part of the catalog is lost
}

func (c *catalog) read() (found foundCatalog, err error) {
	err = c.quarantine.retryAfterDamage(func() error {
		var err error
		if c.mem.tables, err = loadTables(c.db.DB, len(c.mem.mu.shards)); err != nil {
			return err
		}
		table, chunk, err := loadCounters(c.db.DB)
		if err != nil {
			return err
		}
		c.nextTable = max(c.nextTable, table)
		c.lastChunk.Store(max(c.lastChunk.Load(), chunk))
		data, err := get(c.db.DB, keyGeneration)
		if err == nil && len(data) == 8 {
			found.generation = binary.BigEndian.Uint64(data)
		}
		return err
	})
	found.lost = c.db.ledger.find([]byte{spaceTable}, []byte{spaceTable + 1}) != nil ||
		c.db.ledger.findKey(keyNextTable) != nil || c.db.ledger.findKey(keyGeneration) != nil
	if c.db.ledger.findKey(keyLastChunk) != nil {
		c.lastChunk.Add(chunksLost)
	}
	return found, err
}

// adoptCopy replaces the catalog in memory and in Pebble with the content of CATALOG. Then the keys of the
// catalog no longer count as lost.
func (c *catalog) adoptCopy(body string, found foundCatalog) (err error) {
	var rec catalogRecord
	if err := json.Unmarshal([]byte(body), &rec); err != nil {
		return fmt.Errorf("%s: %w", c.db.folder.path(catalogFile), err)
	}
	batch := c.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	tables := newTables()
	for name, tr := range rec.Tables {
		t, err := c.adoptTable(name, tr)
		if err != nil {
			return err
		}
		tables.add(t)
		if err := tr.put(batch, t.Table); err != nil {
			return err
		}
		rec.NextTable = max(rec.NextTable, tr.Number+1)
	}
	for _, t := range c.mem.tables.sorted {
		if tables.byName[t.Table] == nil {
			if err := batch.Delete(tableKey(t.Table), nil); err != nil {
				return err
			}
		}
	}
	c.mem.tables = tables
	c.nextTable = max(c.nextTable, rec.NextTable)
	c.lastChunk.Store(max(c.lastChunk.Load(), rec.LastChunk))
	err = errors.Join(putGeneration(batch, c.generation), putNextTable(batch, c.nextTable))
	if err == nil {
		err = c.db.commit(batch)
	}
	if err == nil {
		err = c.db.makeDurable(c.db.life.background)
	}
	if err != nil || !found.lost {
		return err
	}
	for _, space := range []byte{spaceTable, spaceTables, spaceGeneration} {
		if err := c.db.ledger.remove([]byte{space}, []byte{space + 1}); err != nil {
			return err
		}
	}
	return nil
}

// adoptTable returns a table of CATALOG, with the statistics of its chunks from Pebble.
func (c *catalog) adoptTable(name string, tr tableRecord) (*table, error) {
	parsed, ok := grid.Parse(name)
	if !ok {
		return nil, fmt.Errorf("%s has a table %q, which is not a valid name", c.db.folder.path(catalogFile), name)
	}
	t := newTable(parsed, len(c.mem.mu.shards))
	t.number, t.record = tr.Number, tr
	return t, c.quarantine.retryAfterDamage(func() (err error) {
		t.stats, err = loadStats(c.db.DB, tr.Number)
		return err
	})
}

// save writes CATALOG. The caller has locked the catalog, or is opening the store.
func (c *catalog) save() error {
	rec := catalogRecord{Tables: map[string]tableRecord{}, NextTable: c.nextTable, LastChunk: c.lastChunk.Load()}
	c.mem.mu.RLock()
	for _, t := range c.mem.tables.sorted {
		rec.Tables[t.name] = t.record
	}
	c.mem.mu.RUnlock()
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := c.db.folder.writePair(catalogFile, c.generation, string(body)+"\n"); err != nil {
		return err
	}
	c.unsaved = false
	return nil
}

// recountStats recounts the chunks of tables whose statistics were lost.
func (c *catalog) recountStats() (err error) {
	stats := []byte{spaceStats}
	if c.db.ledger.find(stats, after(stats)) == nil {
		return nil
	}
	batch := c.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	for _, t := range c.mem.tables.sorted {
		if c.db.ledger.findKey(statsKey(t.number)) == nil {
			continue
		}
		err := c.quarantine.retryAfterDamage(func() (err error) {
			t.stats, err = c.db.countChunks(t.number)
			return err
		})
		if err != nil {
			return err
		}
		if err := t.stats.put(batch, t.number); err != nil {
			return err
		}
	}
	if err := c.db.commit(batch); err != nil {
		return err
	}
	if err := c.db.makeDurable(c.db.life.background); err != nil {
		return err
	}
	return c.db.ledger.remove(stats, after(stats))
}

// lock locks the catalog, and waits for the outcome of the previous change. If CATALOG lacks that
// change, lock saves CATALOG.
func (c *catalog) lock(ctx context.Context) (unlock func(), err error) {
	c.mu.Lock()
	if err := c.changes.resolve(ctx, c.last); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.last = nil
	if c.unsaved {
		if err := c.save(); err != nil {
			c.mu.Unlock()
			return nil, c.db.guard.Unavailable(err)
		}
	}
	return c.mu.Unlock, nil
}

// commit commits a change of tables as the next generation of the catalog.
//
// When the change is in Pebble, commit locks memory and calls the function "then". After success,
// Pebble and CATALOG have the change. If only Pebble has it, commit fails with an unavailable
// error, and the next change saves CATALOG first. The caller has locked the catalog.
func (c *catalog) commit(ctx context.Context, batch *pebble.Batch, then func()) (err error) {
	if err := putGeneration(batch, c.generation+1); err != nil {
		return closing(err, batch)
	}
	c.last, err = c.changes.commit(ctx, batch, nil, func() {
		c.generation++
		c.unsaved = true
		c.mem.mu.Lock()
		defer c.mem.mu.Unlock()
		then()
	})
	if err != nil {
		return err
	}
	if err := c.save(); err != nil {
		return c.db.guard.Unavailable(err)
	}
	return nil
}

// recountTables recounts the readings of the tables whose chunks or statistics may be in one of the lost
// ranges. It fails if it meets damage.
func (c *catalog) recountTables(ranges []lost) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	changed := map[*table]tableStats{}
	c.mem.mu.RLock()
	tables := slices.Clone(c.mem.tables.sorted)
	c.mem.mu.RUnlock()
	for _, t := range tables {
		space, stats := chunkSpace(t.number), statsKey(t.number)
		if !slices.ContainsFunc(ranges, func(l lost) bool { return l.overlaps(space, after(space)) || l.overlaps(stats, next(stats)) }) {
			continue
		}
		if changed[t], err = c.db.countChunks(t.number); err != nil {
			return err
		}
		if err := changed[t].put(batch, t.number); err != nil {
			return err
		}
	}
	if err := c.db.commit(batch); err != nil {
		return err
	}
	c.mem.mu.Lock()
	defer c.mem.mu.Unlock()
	for t, stats := range changed {
		t.stats = stats
	}
	return nil
}

// rewritePairs rewrites both copies of CATALOG, and of DAMAGE, which lists the lost key ranges.
func (c *catalog) rewritePairs() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.save(), c.db.ledger.change(func(*lostRecord) {}))
}
