package local

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
)

// itemRanges returns the ranges that contain items. After a rebuild, all items may be out of
// date.
func itemRanges(ranges []lost, rebuilt time.Time) (list []lost) {
	for i := range ranges {
		if from, to, ok := ranges[i].bounded(spaceItem); ok {
			l := ranges[i]
			l.From, l.To = from, to
			list = append(list, l)
		}
	}
	if !rebuilt.IsZero() {
		list = append(list, lost{From: []byte{spaceItem}, To: []byte{spaceItem + 1}, File: "pebble", Found: rebuilt, Reason: "rebuilt", Rebuilt: true})
	}
	return list
}

// addUnknown records the loss of items with unknown keys, in parts of the journal or in all of
// Pebble. Missing guarded items are refused.
func (s *Store) addUnknown(losses []Loss) error {
	i := slices.IndexFunc(losses, func(l Loss) bool { return !l.Harmless })
	if i < 0 {
		return nil
	}
	base := lost{File: losses[i].File, Found: s.opts.Now().UTC(), Reason: losses[i].Reason}
	guarded, err := s.missingGuarded(base)
	if err != nil {
		return err
	}
	all := base
	all.From, all.To = []byte{spaceItem}, []byte{spaceItem + 1}
	if err := s.ledger.change(func(rec *lostRecord) { rec.Pending = append(rec.Pending, all) }); err != nil {
		return err
	}
	return s.ledger.add(guarded)
}

// missingGuarded returns a range for each guarded item that is missing.
func (s *Store) missingGuarded(base lost) (list []lost, err error) {
	for _, k := range s.opts.Guarded {
		key := itemKey(k)
		data, err := get(s.db, key)
		if err != nil && !isDamage(err) {
			return nil, err
		}
		if data == nil {
			base.From, base.To = key, next(key)
			list = append(list, base)
		}
	}
	return list, nil
}

// Unrecounted returns the accepted losses of items whose roll-ups are not recounted yet.
func (s *Store) Unrecounted() []Loss { return s.describe(s.ledger.unrecounted()) }

// Recounted records that the roll-ups of all accepted losses are recounted.
func (s *Store) Recounted(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.makeDurable(ctx); err != nil {
		return err
	}
	return s.ledger.change(func(rec *lostRecord) { rec.Pending = nil })
}

// Recorded is the damage that a data folder has recorded.
type Recorded struct {
	Losses      []Loss // refused until they are accepted; tables are identified by number only
	Rebuilt     time.Time
	Unrecounted []Loss
}

// ReadRecorded reads the recorded damage of a data folder. It changes nothing, and a server may
// have the folder open.
func ReadRecorded(dir string) (r Recorded, err error) {
	s := &Store{folder: &folder{fs: vfs.Default, dir: dir}, tables: newTables()}
	if s.ledger, err = openLedger(s.folder, nil); err != nil {
		return r, err
	}
	return Recorded{Losses: s.describe(s.ledger.all()), Rebuilt: s.ledger.rebuiltAt(), Unrecounted: s.Unrecounted()}, nil
}

// Series returns the series that have chunks, in no order. It ignores readings that are not in
// chunks, which do not exist right after Open.
func (s *Store) Series(ctx context.Context) (list []varve.Series, err error) {
	seen := map[varve.Series]bool{}
	err = s.skip(ctx, []byte{spaceChunk}, []byte{spaceChunk + 1}, func(key []byte) (next []byte) {
		k, ok := parseChunkKey(key)
		if !ok {
			return append(slices.Clone(key), 0)
		}
		if !seen[k.series] {
			seen[k.series] = true
			list = append(list, k.series)
		}
		return after(appendSeriesSpace(nil, k.number, k.series))
	})
	return list, err
}

// Partitions returns the partitions of items with a prefix, in order.
func (s *Store) Partitions(ctx context.Context, prefix string) (list []string, err error) {
	begin := append([]byte{spaceItem}, prefix...)
	err = s.skip(ctx, begin, after(begin), func(key []byte) (next []byte) {
		k, ok := cutKey(key[1:])
		if !ok {
			return append(slices.Clone(key), 0)
		}
		list = append(list, k.PK)
		return after(appendPart([]byte{spaceItem}, k.PK))
	})
	return slices.DeleteFunc(list, func(pk string) bool { return !strings.HasPrefix(pk, prefix) }), err
}

// skip visits keys from <= key < to. The visit function returns the next key to visit.
func (s *Store) skip(ctx context.Context, from, to []byte, visit func(key []byte) (next []byte)) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	iter, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next := visit(iter.Key())
		if bytes.Compare(next, iter.Key()) <= 0 {
			return errors.New("keys are out of order")
		}
		ok = iter.SeekGE(next)
	}
	return iter.Error()
}
