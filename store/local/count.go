package local

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/varvedb/varve/store/local/chunk"
)

// countChunks counts the readings in the chunks of a table by their headers. It skips unreadable
// chunks.
func (s *Store) countChunks(number uint32) (n tableStats, err error) {
	space := chunkSpace(number)
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return n, err
	}
	defer func() {
		if closed := iter.Close(); !isDamage(closed) {
			err = errors.Join(err, closed)
		}
	}()
	for ok := iter.First(); ok; ok = iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			break
		}
		if h, err := chunk.ReadHeader(value); err == nil {
			n.readings += int64(h.Count)
			n.bytes += int64(len(iter.Key()) + len(value))
		}
	}
	if err := iter.Error(); err != nil && !isDamage(err) {
		return n, err
	}
	return n, nil
}
