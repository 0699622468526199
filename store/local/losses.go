package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
)

// lostFile is the name of the pair of files with the lost key ranges.
const lostFile = "DAMAGE"

// Messages of the condition data_damaged, and of an unreadable list of losses.
const (
	sayRefused     = "%d ranges of data are lost and refused: list them with varve verify, accept them with varve repair"
	sayOutdated    = "items may be older than they were: check API keys, rules and holds, then run varve repair"
	sayUnrecounted = "roll-ups are lost and not recounted: run varve repair --apply"
	sayLedger      = "the list of lost data cannot be read, so no data may be served: restore %s from a backup"
)

// lost is a range of keys that damage may have destroyed: From <= key < To.
type lost struct {
	From    []byte    `json:"from"`
	To      []byte    `json:"to"`
	File    string    `json:"file"`              // the file that contained these keys
	Found   time.Time `json:"found"`             // the time at which the damage was found
	Reason  string    `json:"reason"`            // the damage, for the operator
	Rebuilt bool      `json:"rebuilt,omitempty"` // whether a rebuild found the loss; then other data may be outdated
}

func (l *lost) overlaps(from, to []byte) bool {
	return bytes.Compare(l.From, to) < 0 && bytes.Compare(from, l.To) < 0
}

// same reports whether two ranges are one loss. Two files may have lost the same keys, one after the other.
func (l *lost) same(m lost) bool {
	return bytes.Equal(l.From, m.From) && bytes.Equal(l.To, m.To) && l.File == m.File
}

// ledger is the list of lost key ranges, in memory and on disk. A check of an empty list reads
// one pointer.
type ledger struct {
	folder     *folder
	conditions *health.Conditions // receives health.DataDamaged
	versions   *store.ItemVersions
	list       atomic.Pointer[[]lost]

	mu         sync.Mutex // guards changes of list, and the fields below
	generation uint64
	rebuilt    time.Time // see lostRecord.Rebuilt
	pending    []lost    // see lostRecord.Pending
}

// lostRecord is the content of DAMAGE.
type lostRecord struct {
	// Rebuilt is the time of a rebuild that is not accepted yet, or zero. The rebuild may have restored
	// outdated items.
	Rebuilt time.Time `json:"rebuilt,omitzero"`
	Ranges  []lost    `json:"ranges"`
	// Pending has the accepted ranges of items whose roll-ups are not recounted yet.
	Pending []lost `json:"pending,omitempty"`
}

func openLedger(f *folder, conditions *health.Conditions, versions *store.ItemVersions) (*ledger, error) {
	l := &ledger{folder: f, conditions: conditions, versions: versions}
	generation, body, err := f.readPair(lostFile)
	if err != nil {
		return nil, fmt.Errorf("%w: "+sayLedger, err, f.path(lostFile))
	}
	var record lostRecord
	if generation > 0 {
		if err := json.Unmarshal([]byte(body), &record); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path(lostFile), err)
		}
	}
	l.generation = generation
	l.setCurrent(&record)
	return l, nil
}

// rebuiltAt returns the time of a rebuild that is not accepted yet, or zero.
func (l *ledger) rebuiltAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rebuilt
}

func (l *ledger) unrecounted() []lost {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending
}

// setCurrent makes a record the current one, and updates the condition. It gives all items a new version,
// because reads in the ranges begin to fail, or succeed again.
func (l *ledger) setCurrent(rec *lostRecord) {
	defer l.versions.End(l.versions.Begin(nil))
	l.rebuilt, l.pending = rec.Rebuilt, rec.Pending
	list := rec.Ranges
	switch {
	case len(list) > 0:
		l.conditions.Set(health.DataDamaged, fmt.Sprintf(sayRefused, len(list)))
	case !l.rebuilt.IsZero():
		l.conditions.Set(health.DataDamaged, sayOutdated)
	case len(l.pending) > 0:
		l.conditions.Set(health.DataDamaged, sayUnrecounted)
	default:
		l.conditions.Clear(health.DataDamaged)
	}
	if len(list) == 0 {
		l.list.Store(nil)
		return
	}
	l.list.Store(&list)
}

// all returns the ranges. The caller must not change the slice.
func (l *ledger) all() []lost {
	if p := l.list.Load(); p != nil {
		return *p
	}
	return nil
}

// find returns a range that overlaps the keys with from <= key < to, or nil.
func (l *ledger) find(from, to []byte) *lost {
	list := l.all()
	for i := range list {
		if list[i].overlaps(from, to) {
			return &list[i]
		}
	}
	return nil
}

// each calls the function "do" for every range that overlaps the keys with from <= key < to.
func (l *ledger) each(from, to []byte, do func(*lost)) {
	list := l.all()
	for i := range list {
		if list[i].overlaps(from, to) {
			do(&list[i])
		}
	}
}

// findKey returns a range that contains a key, or nil.
func (l *ledger) findKey(key []byte) *lost {
	list := l.all()
	for i := range list {
		if bytes.Compare(list[i].From, key) <= 0 && bytes.Compare(key, list[i].To) < 0 {
			return &list[i]
		}
	}
	return nil
}

// change calls the function "do" with a copy of the ledger's record. It stores the changed copy durably,
// and then makes it the current record.
func (l *ledger) change(do func(*lostRecord)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec := lostRecord{Rebuilt: l.rebuilt, Ranges: slices.Clone(l.all()), Pending: slices.Clone(l.pending)}
	do(&rec)
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := l.folder.writePair(lostFile, l.generation+1, string(body)+"\n"); err != nil {
		return err
	}
	l.generation++
	l.setCurrent(&rec)
	return nil
}

// add adds the ranges that are not in the list yet, durably.
func (l *ledger) add(more []lost) error {
	if len(more) == 0 {
		return nil
	}
	return l.change(func(rec *lostRecord) {
		for _, m := range more {
			if !slices.ContainsFunc(rec.Ranges, m.same) {
				rec.Ranges = append(rec.Ranges, m)
			}
		}
		slices.SortFunc(rec.Ranges, func(a, b lost) int { return bytes.Compare(a.From, b.From) })
	})
}

// remove removes the keys with from <= key < to from all ranges, durably.
func (l *ledger) remove(from, to []byte) error {
	if l.find(from, to) == nil {
		return nil
	}
	return l.change(func(rec *lostRecord) {
		var left []lost
		for _, r := range rec.Ranges {
			left = append(left, r.without(from, to)...)
		}
		rec.Ranges = left
	})
}

// without returns the parts of a range outside of the keys with from <= key < to.
func (l *lost) without(from, to []byte) []lost {
	if !l.overlaps(from, to) {
		return []lost{*l}
	}
	var left []lost
	if bytes.Compare(l.From, from) < 0 {
		before := *l
		before.To = from
		left = append(left, before)
	}
	if bytes.Compare(to, l.To) < 0 {
		behind := *l
		behind.From = to
		left = append(left, behind)
	}
	return left
}

// next returns the first key after a key.
func next(key []byte) []byte { return append(slices.Clone(key), 0) }

// hasChunks reports whether a table has chunks or may have lost them. The caller holds the lock memory.mu, or
// the lock of one of its shards.
func (l *ledger) hasChunks(t *table) bool {
	if t.stats.readings > 0 {
		return true
	}
	if len(l.all()) == 0 {
		return false
	}
	space := chunkSpace(t.number)
	return l.find(space, after(space)) != nil
}

// catalogIntact returns a DamageError while names or holds of tables may be lost. Then operations
// that need the catalog are refused.
func (l *ledger) catalogIntact() error {
	return l.find([]byte{spaceTable}, []byte{spaceTable + 1}).err()
}

// itemsIntact returns a DamageError if one of the items may be lost.
func (l *ledger) itemsIntact(keys []store.Key) error {
	if len(l.all()) == 0 {
		return nil
	}
	for _, k := range keys {
		if err := l.findKey(itemKey(k)).err(); err != nil {
			return err
		}
	}
	return nil
}
