package local

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store/local/chunk"
)

// A damaged file is set aside while the store runs:
//
//  1. It is copied into the folder damaged/.
//  2. Its lost key ranges are recorded.
//  3. A new file replaces each range in one atomic change of Pebble. The new file has the
//     remaining entries of the range, from the damaged file and from others.
//
// Data between the ranges is not rewritten. After a crash before 3., the next read finds the
// damage, and the procedure is repeated. After 2., reads of the range are refused.

// retryAside is the delay after a failed attempt to set a file aside.
const retryAside = 30 * time.Second

// quarantine sets damaged files and chunks aside.
type quarantine struct {
	db     *database
	report *damageReport
}

func (q *quarantine) loop() {
	retry := time.NewTimer(0)
	<-retry.C
	wake := q.db.watcher.wake // nil during the delay after a failure, because each read of damage wakes the loop
	for {
		select {
		case <-q.db.life.background.Done():
			return
		case <-wake:
		case <-retry.C:
			wake = q.db.watcher.wake
		}
		if err := q.setAsideAll(q.db.life.background); err != nil && q.db.life.background.Err() == nil {
			q.db.opts.Events.Failed("set damaged data aside", err)
			wake = nil
			retry.Reset(retryAside)
		}
	}
}

// setAsideAll sets aside all damage that was found so far.
func (q *quarantine) setAsideAll(ctx context.Context) error {
	var errs []error
	files, keys := q.db.watcher.pending()
	for _, number := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := q.setFileAside(ctx, number); err != nil {
			errs = append(errs, fmt.Errorf("file %s: %w", fileName(number), err))
		}
	}
	for _, key := range keys {
		if err := q.setChunkAside([]byte(key)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// setFileAside sets one file aside. Writes to Pebble wait meanwhile.
func (q *quarantine) setFileAside(ctx context.Context, number uint64) error {
	q.db.aside.Lock()
	defer q.db.aside.Unlock()
	if err := q.db.Flush(); err != nil {
		return err
	}
	list, release, err := partsKept(q.db.DB)
	if err != nil {
		return err
	}
	r := &repairer{db: q.db, parts: list, files: map[uint64]*examined{}}
	spans, err := r.spansOf(number)
	if err == nil && len(spans) > 0 {
		err = q.replaceFile(ctx, r, number, spans)
	}
	if err := errors.Join(err, r.close(), release()); err != nil {
		return err
	}
	q.db.watcher.doneFile(number)
	if len(spans) > 0 {
		q.db.opts.Events.SetAside(fileName(number), q.report.describe(r.lost))
	}
	return nil
}

// replaceFile copies a file aside and replaces its spans. If the first span cannot be replaced, it removes
// the copy, because the next attempt makes another.
func (q *quarantine) replaceFile(ctx context.Context, r *repairer, number uint64, spans []keySpan) error {
	copied, err := r.copyAside(number)
	if err != nil {
		return err
	}
	for i, sp := range spans {
		if err := r.replace(ctx, sp); err != nil {
			if i == 0 && copied != "" {
				err = errors.Join(err, q.db.folder.fs.Remove(copied))
			}
			return err
		}
	}
	return nil
}

func (q *quarantine) setChunkAside(key []byte) error {
	q.db.aside.Lock()
	defer q.db.aside.Unlock()
	data, err := get(q.db.DB, key)
	if err != nil && isDamage(err) {
		q.db.watcher.doneChunk(string(key)) // its file is damaged and will be set aside
		return nil
	}
	if err != nil {
		return err
	}
	k, ok := parseChunkKey(key)
	bad := errors.New("key of a chunk is damaged")
	if ok {
		bad = new(chunk.Chunk).Decode(k.series, data)
	}
	if data != nil && bad != nil {
		name := q.db.folder.fs.PathJoin(asideDir, fmt.Sprintf("chunk-%x", hashText(string(key))))
		if err := q.db.folder.fs.MkdirAll(q.db.folder.path(asideDir), 0o755); err != nil {
			return err
		}
		if err := q.db.folder.write(name, hex.EncodeToString(key)+"\n"+hex.EncodeToString(data)+"\n"); err != nil {
			return err
		}
		gone := []lost{{From: slices.Clone(key), To: next(key), File: name, Found: q.db.opts.Now().UTC(), Reason: bad.Error()}}
		if err := q.db.ledger.add(gone); err != nil {
			return err
		}
		if err := q.db.Delete(key, pebble.NoSync); err != nil {
			return err
		}
		q.db.opts.Events.SetAside(name, q.report.describe(gone))
	}
	q.db.watcher.doneChunk(string(key))
	return nil
}

// asideDir is the folder of damaged files. The store never deletes them.
const asideDir = "damaged"

// SetAside returns the paths of damaged files in a data folder: the folder damaged/, and segments
// of the journal. Without damaged files, the list is empty.
func SetAside(dir string) (places []string, err error) {
	aside, err := filepath.Glob(filepath.Join(dir, asideDir, "*"))
	if err != nil {
		return nil, err
	}
	if len(aside) > 0 {
		places = append(places, filepath.Join(dir, asideDir))
	}
	segments, err := filepath.Glob(filepath.Join(dir, "journal", "*"+damagedSuffix))
	return append(places, segments...), err
}

// retryAfterDamage calls the function "do". While "do" fails because of damage, retryAfterDamage sets the
// damage aside and calls "do" once more, at most a hundred times. In these cases, it returns the error
// earlier:
//
//   - The damage cannot be set aside, and the reason is not further damage.
//   - After eleven or more calls, the damage cannot be set aside for any reason.
//   - After five or more calls, the damage is set aside, but no new loss was found.
func (q *quarantine) retryAfterDamage(do func() error) error {
	const most, mostAside = 100, 10
	for try := 0; ; try++ {
		err := do()
		if !isDamage(err) || try == most {
			return err
		}
		before := len(q.db.ledger.all())
		// Setting a file aside may reveal damage to another file. The next attempt sets that file
		// aside.
		aside := q.setAsideAll(q.db.life.background)
		if aside != nil && (!isDamage(aside) || try >= mostAside) {
			return errors.Join(err, aside)
		}
		if aside == nil && len(q.db.ledger.all()) == before && try > 3 {
			return err
		}
	}
}
