package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// record1 is a table record of format 1, reduced to the number of the table and its statistics.
type record1 struct {
	Number   uint32 `json:"number"`
	Readings int64  `json:"readings"`
	Bytes    int64  `json:"bytes"`
}

// upgradeKeys converts the keys of format 1 to format 2. A second call changes nothing.
func upgradeKeys(db *pebble.DB) (err error) {
	counters, err := get(db, keyNextTable)
	if err != nil || counters == nil || len(counters) == 4 {
		return err
	}
	if len(counters) != 12 {
		return fmt.Errorf("the counters have %d bytes, not 12", len(counters))
	}
	batch := db.NewBatch()
	defer func() { err = closing(err, batch) }()
	next := binary.BigEndian.Uint64(counters[4:])
	if err := errors.Join(putNextTable(batch, binary.BigEndian.Uint32(counters)), putLastChunk(batch, next)); err != nil {
		return err
	}
	if err := upgradeTables(db, batch); err != nil {
		return err
	}
	return db.Apply(batch, pebble.NoSync)
}

// upgradeTables copies the statistics of tables into separate keys.
func upgradeTables(db *pebble.DB, batch *pebble.Batch) (err error) {
	space := []byte{spaceTable}
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; ok = iter.Next() {
		var rec record1
		if err := json.Unmarshal(iter.Value(), &rec); err != nil {
			return fmt.Errorf("table %s: %w", iter.Key()[1:], err)
		}
		if err := (tableStats{readings: rec.Readings, bytes: rec.Bytes}).put(batch, rec.Number); err != nil {
			return err
		}
	}
	return iter.Error()
}
