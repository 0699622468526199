package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/varvedb/varve/grid"
)

// The catalog consists of the tables, with their holds and states, and the counters. Pebble
// stores it, and so does a pair of files: a hold must survive damage of either. A change is
// acknowledged when both have it. Each change has a new generation. If the two differ, the newer
// generation counts.

// catalogFile is the name of the pair of files.
const catalogFile = "CATALOG"

// catalogRecord is the content of the pair of files.
type catalogRecord struct {
	Tables    map[string]tableRecord `json:"tables"`
	NextTable uint32                 `json:"next_table"`
	NextChunk uint64                 `json:"next_chunk"`
}

// chunksLost is added to the counter of chunks after it was lost, because chunk numbers must
// never be reused.
const chunksLost = 1 << 40

// loadCatalog reads tables and counters. It uses the copy if Pebble has lost them or has an
// older generation. Replay applies the changes of the journal to an older copy.
func (s *Store) loadCatalog(replay func() error) error {
	found, err := s.readCatalog()
	if err != nil {
		return err
	}
	generation, body, err := s.folder.readPair(catalogFile)
	if err != nil && !found.lost {
		s.opts.Events.Damaged(s.folder.path(catalogFile), err)
	}
	s.generation = max(generation, found.generation, 1)
	switch {
	case generation == 0 && found.lost:
		return s.recountStats() // both are lost: dependent data is refused
	case found.lost || generation > found.generation:
		if err := s.adoptCatalog(body, found); err != nil {
			return err
		}
		if generation < found.generation {
			if err := replay(); err != nil {
				return err
			}
			if _, err := s.readCatalog(); err != nil {
				return err
			}
		}
		err = s.saveCatalog()
	case generation < found.generation || generation == 0:
		err = s.saveCatalog()
	}
	return errors.Join(err, s.recountStats())
}

// foundCatalog is the part of the catalog that Pebble has.
type foundCatalog struct {
	generation uint64
	lost       bool // part of the catalog is lost
}

// readCatalog reads the catalog in Pebble.
func (s *Store) readCatalog() (found foundCatalog, err error) {
	err = s.afterDamage(func() error {
		var err error
		if s.tables, err = loadTables(s.db); err != nil {
			return err
		}
		table, chunk, err := loadCounters(s.db)
		if err != nil {
			return err
		}
		s.nextTable = max(s.nextTable, table)
		s.nextChunk.Store(max(s.nextChunk.Load(), chunk))
		data, err := get(s.db, keyGeneration)
		if err == nil && len(data) == 8 {
			found.generation = binary.BigEndian.Uint64(data)
		}
		return err
	})
	found.lost = s.ledger.find([]byte{spaceTable}, []byte{spaceTable + 1}) != nil ||
		s.ledger.findKey(keyNextTable) != nil || s.ledger.findKey(keyGeneration) != nil
	if s.ledger.findKey(keyNextChunk) != nil {
		s.nextChunk.Add(chunksLost)
	}
	return found, err
}

// afterDamage calls do, and repeats it as long as it fails because of damage that can be set
// aside.
func (s *Store) afterDamage(do func() error) error {
	const most, mostAside = 100, 10
	for try := 0; ; try++ {
		err := do()
		if !isDamage(err) || try == most {
			return err
		}
		before := len(s.ledger.all())
		// Setting a file aside may reveal damage of another file, which is next then.
		aside := s.setAsideAll(s.background)
		if aside != nil && (!isDamage(aside) || try >= mostAside) {
			return errors.Join(err, aside)
		}
		if aside == nil && len(s.ledger.all()) == before && try > 3 {
			return err
		}
	}
}

// adoptCatalog replaces the catalog by its copy.
func (s *Store) adoptCatalog(body string, found foundCatalog) (err error) {
	var rec catalogRecord
	if err := json.Unmarshal([]byte(body), &rec); err != nil {
		return fmt.Errorf("%s: %w", s.folder.path(catalogFile), err)
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	tables := newTables()
	for name, tr := range rec.Tables {
		t, err := s.adoptTable(name, tr)
		if err != nil {
			return err
		}
		tables.add(t)
		if err := tr.put(batch, t.Table); err != nil {
			return err
		}
		rec.NextTable = max(rec.NextTable, tr.Number+1)
	}
	for _, t := range s.tables.sorted {
		if tables.byName[t.Table] == nil {
			if err := batch.Delete(tableKey(t.Table), nil); err != nil {
				return err
			}
		}
	}
	s.tables = tables
	s.nextTable = max(s.nextTable, rec.NextTable)
	s.nextChunk.Store(max(s.nextChunk.Load(), rec.NextChunk))
	err = errors.Join(putGeneration(batch, s.generation), putNextTable(batch, s.nextTable))
	if err == nil {
		err = s.apply(batch)
	}
	if err == nil {
		err = s.makeDurable(s.background)
	}
	if err != nil || !found.lost {
		return err
	}
	for _, space := range []byte{spaceTable, spaceTables, spaceGeneration} {
		if err := s.ledger.remove([]byte{space}, []byte{space + 1}); err != nil {
			return err
		}
	}
	return nil
}

// adoptTable returns a table of the copy with the statistics of its chunks.
func (s *Store) adoptTable(name string, tr tableRecord) (*table, error) {
	parsed, ok := grid.Parse(name)
	if !ok {
		return nil, fmt.Errorf("%s has a table %q, which is not a valid name", s.folder.path(catalogFile), name)
	}
	t := newTable(parsed)
	t.number, t.record = tr.Number, tr
	return t, s.afterDamage(func() (err error) {
		t.stats, err = loadStats(s.db, tr.Number)
		return err
	})
}

// saveCatalog writes the copy. The caller holds the lock of the catalog.
func (s *Store) saveCatalog() error {
	rec := catalogRecord{Tables: map[string]tableRecord{}, NextTable: s.nextTable, NextChunk: s.nextChunk.Load()}
	s.mu.RLock()
	for _, t := range s.tables.sorted {
		rec.Tables[t.name] = t.record
	}
	s.mu.RUnlock()
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := s.folder.writePair(catalogFile, s.generation, string(body)+"\n"); err != nil {
		return err
	}
	s.catalogUnsaved = false
	return nil
}

// recountStats recounts the chunks of tables whose statistics were lost.
func (s *Store) recountStats() (err error) {
	stats := []byte{spaceStats}
	if s.ledger.find(stats, after(stats)) == nil {
		return nil
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	for _, t := range s.tables.sorted {
		if s.ledger.findKey(statsKey(t.number)) == nil {
			continue
		}
		if t.stats, err = s.countChunks(t.number); err != nil {
			return err
		}
		if err := t.stats.put(batch, t.number); err != nil {
			return err
		}
	}
	if err := s.apply(batch); err != nil {
		return err
	}
	if err := s.makeDurable(s.background); err != nil {
		return err
	}
	return s.ledger.remove(stats, after(stats))
}
