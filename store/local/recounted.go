package local

import (
	"context"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// itemRanges returns the parts of ranges that may contain items. After a rebuild, it adds the range
// of all items, because they may be out of date.
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

// addUnknown records that parts of the journal, or all of Pebble, were lost with items whose keys are
// unknown. Then all roll-ups must be recounted. It also records each missing guarded item as lost.
// If all losses are harmless, addUnknown does nothing.
func (r *repair) addUnknown(losses []Loss) error {
	i := slices.IndexFunc(losses, func(l Loss) bool { return !l.Harmless })
	if i < 0 {
		return nil
	}
	base := lost{File: losses[i].File, Found: r.db.opts.Now().UTC(), Reason: losses[i].Reason}
	guarded, err := r.missingGuarded(base)
	if err != nil {
		return err
	}
	all := base
	all.From, all.To = []byte{spaceItem}, []byte{spaceItem + 1}
	if err := r.db.ledger.change(func(rec *lostRecord) { rec.Pending = append(rec.Pending, all) }); err != nil {
		return err
	}
	return r.db.ledger.add(guarded)
}

// missingGuarded returns a range for each guarded item that is missing.
func (r *repair) missingGuarded(base lost) (list []lost, err error) {
	for _, k := range r.db.opts.Guarded {
		key := itemKey(k)
		data, err := get(r.db.DB, key)
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
func (r *repair) Unrecounted() []Loss { return r.report.describe(r.db.ledger.unrecounted()) }

// Recounted records that the roll-ups of all accepted losses are recounted.
func (r *repair) Recounted(ctx context.Context) error {
	if err := r.db.life.enter(ctx); err != nil {
		return err
	}
	defer r.db.life.leave()
	if err := r.db.makeDurable(ctx); err != nil {
		return err
	}
	return r.db.ledger.change(func(rec *lostRecord) { rec.Pending = nil })
}

// Recorded is the damage that a data folder has recorded.
type Recorded struct {
	Losses      []Loss    // refused until they are accepted; tables are identified by number only
	Rebuilt     time.Time // time of a rebuild that is not accepted yet; zero if none
	Unrecounted []Loss    // accepted losses of items whose roll-ups are not recounted yet
}

// ReadRecorded reads the recorded damage of a data folder. It changes nothing, and a server may
// have the folder open.
func ReadRecorded(dir string) (r Recorded, err error) {
	db := &database{folder: &folder{fs: vfs.Default, dir: dir}}
	if db.ledger, err = openLedger(db.folder, nil, &db.versions); err != nil {
		return r, err
	}
	report := &damageReport{db: db, mem: &memory{tables: newTables()}}
	return Recorded{
		Losses: report.describe(db.ledger.all()), Rebuilt: db.ledger.rebuiltAt(),
		Unrecounted: report.describe(db.ledger.unrecounted()),
	}, nil
}
