package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/sst"
)

// Problem is damage that a check found.
type Problem struct {
	File   string
	Err    error
	Losses []Loss // ranges that cannot be read because of the damage
	// Harmless means that no data is lost, and that a repair rewrites the file.
	Harmless bool
}

// Pace limits the speed of a check.
type Pace struct {
	// Rate is the maximum number of bytes per second; 0 means no limit.
	Rate int64
	// Read is called with the total number of bytes that have been read or are about to be read.
	//
	// It is called for each file and each key, and regularly while the check waits. If nil, it is
	// not called.
	Read func(bytes int64)
}

// Verify reads all files of Pebble in an open store, and reports all damage. New damage is set
// aside in the background. Verify also reports earlier losses that are not accepted yet.
func (r *damageReport) Verify(ctx context.Context, pace Pace, report func(Problem)) error {
	if err := r.db.life.enter(ctx); err != nil {
		return err
	}
	defer r.db.life.leave()
	if err := r.db.flushToCheck(ctx); err != nil {
		return err
	}
	c := r.newChecker(pace, func(p Problem, number uint64, chunks [][]byte) {
		report(p)
		if number != 0 && len(chunks) == 0 {
			r.db.watcher.addFile(number, r.db.folder.path("pebble", p.File), p.Err)
		}
		for _, key := range chunks {
			r.db.watcher.addChunk(key, p.Err)
		}
	})
	list, err := partsInUse(r.db.DB)
	if err != nil {
		return err
	}
	c.merged = func(number uint64) (bool, error) {
		list, err := partsInUse(r.db.DB)
		return !slices.ContainsFunc(list, func(p part) bool { return p.number == number }), err
	}
	r.reportLosses(report)
	return c.check(ctx, list)
}

// CheckPebble reads all files of Pebble in a data folder, and reports damage.
//
// No process may have the folder open. The rate is in bytes per second; 0 means no limit. CheckPebble
// changes nothing. It also reports earlier losses that are not accepted yet.
func CheckPebble(ctx context.Context, dir string, rate int64, report func(Problem)) error {
	return checkPebble(ctx, dir, rate, false, report)
}

func checkPebble(ctx context.Context, dir string, rate int64, quick bool, report func(Problem)) error {
	opts := Options{Dir: dir}.withDefaults()
	f := &folder{fs: vfs.Default, dir: dir}
	db := &database{opts: opts, folder: f, watcher: newWatcher(ctx, opts.Events)}
	db.options = pebbleOptions(opts, db.watcher)
	var err error
	if db.ledger, err = openLedger(f, nil, &db.versions); err != nil {
		report(Problem{File: f.path(lostFile), Err: err})
		db.ledger = &ledger{folder: f}
	}
	listing, err := f.listFiles()
	if err != nil {
		return fmt.Errorf("data folder %s: %w", dir, plain(err))
	}
	if listing.manifest == "" && len(listing.tables) == 0 {
		return nil // the store is still empty
	}
	ro := db.options.Clone()
	ro.ReadOnly = true
	opened, err := pebble.Open(f.path("pebble"), ro)
	if err != nil {
		if mayBeDamage(err) {
			report(Problem{File: f.path("pebble"), Err: err})
			return nil
		}
		return fmt.Errorf("data folder %s: %w", dir, plain(err))
	}
	if whole, err := f.manifestWhole(listing.manifest); err == nil && !whole {
		report(Problem{File: f.path("pebble", listing.manifest), Err: errors.New("the list of files ends in a record that does not check")})
	}
	mem := &memory{tables: newTables()}
	if tables, err := loadTables(opened, 0); err == nil {
		mem.tables = tables
	}
	damage := &damageReport{db: db, mem: mem}
	c := damage.newChecker(Pace{Rate: rate}, func(p Problem, _ uint64, _ [][]byte) { report(p) })
	if quick {
		err = c.checkQuickly(ctx, storedParts(opened))
	} else {
		damage.reportLosses(report)
		err = c.check(ctx, storedParts(opened))
	}
	if closed := opened.Close(); !isDamage(closed) {
		err = errors.Join(err, closed)
	}
	return err
}

// checker reads files of Pebble one by one and reports their damage.
type checker struct {
	damage *damageReport
	report func(p Problem, number uint64, chunks [][]byte)
	Pace
	begun time.Time
	read  int64
	// merged reports whether Pebble has merged a file into others since the check began. If nil,
	// the files do not change during the check.
	merged func(number uint64) (bool, error)
}

func (r *damageReport) newChecker(pace Pace, report func(Problem, uint64, [][]byte)) *checker {
	return &checker{damage: r, Pace: pace, report: report, begun: time.Now()}
}

func (c *checker) check(ctx context.Context, list []part) error {
	r := &repairer{db: c.damage.db, parts: list, files: map[uint64]*examined{}}
	for i := range r.parts {
		if err := c.checkPart(ctx, r, &r.parts[i]); err != nil {
			return errors.Join(err, r.close())
		}
		// Close each file after its last part, so that only one file is open at a time.
		if i+1 == len(r.parts) || r.parts[i+1].number != r.parts[i].number {
			if err := r.close(); err != nil {
				return err
			}
			r.files = map[uint64]*examined{}
		}
	}
	return nil
}

// checkPart reads the whole file of a part, and then decodes the entries of the part.
func (c *checker) checkPart(ctx context.Context, r *repairer, p *part) error {
	// At the first part of a file, lostOf reads the whole file. Afterward, decodeAll reads the entries of
	// each part once more, and limits its own speed.
	if r.files[p.number] == nil {
		if err := c.pace(ctx, int64(p.size)); err != nil {
			return err
		}
	}
	ranges, spans, err := r.lostOf(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the file was merged into others meanwhile
	}
	if err != nil {
		return err
	}
	e := r.files[p.number]
	if e.file == nil && c.merged != nil {
		if merged, err := c.merged(p.number); merged || err != nil {
			return err
		}
	}
	switch {
	case len(ranges) > 0:
		c.report(Problem{File: fileName(p.number), Err: errors.New(ranges[0].Reason), Losses: c.damage.describe(ranges)}, p.number, nil)
	case len(spans) > 0:
		c.report(Problem{File: fileName(p.number), Err: e.rest}, p.number, nil)
	}
	if e.file == nil {
		return nil
	}
	return c.decodeAll(ctx, e.file, p)
}

func (c *checker) decodeAll(ctx context.Context, file *sst.File, p *part) error {
	scan, err := file.Scan(p.first, p.seq)
	if err != nil {
		return err
	}
	for {
		ok, err := scan.Next()
		if err != nil || !ok || bytes.Compare(scan.Entry().Key, p.last) > 0 {
			return errors.Join(err, scan.Close())
		}
		e := scan.Entry()
		if err := c.pace(ctx, int64(len(e.Key)+len(e.Value))); err != nil {
			return errors.Join(err, scan.Close())
		}
		if bad := decodeEntry(e); bad != nil {
			l := lost{From: slices.Clone(e.Key), To: next(e.Key), File: fileName(p.number), Reason: bad.Error()}
			var chunks [][]byte
			if e.Key[0] == spaceChunk {
				chunks = [][]byte{l.From}
			}
			c.report(Problem{File: l.File, Err: bad, Losses: c.damage.describe([]lost{l})}, 0, chunks)
		}
	}
}

// decodeEntry returns an error if the entry of a chunk or an item cannot be decoded. It accepts all
// other entries.
func decodeEntry(e *sst.Entry) error {
	if !e.HasValue || len(e.Key) == 0 {
		return nil
	}
	switch e.Key[0] {
	case spaceChunk:
		k, ok := parseChunkKey(e.Key)
		if !ok {
			return fmt.Errorf("key of a chunk: %w", chunk.ErrDamaged)
		}
		return new(chunk.Chunk).Decode(k.series, e.Value)
	case spaceItem:
		k, ok := cutKey(e.Key[1:])
		if !ok {
			return errItemKey(e.Key)
		}
		_, err := decodeItem(k, e.Value)
		return err
	}
	return nil
}

// tellEvery is the interval at which a waiting check reports its progress.
const tellEvery = 100 * time.Millisecond

// pace waits until n further bytes may be read.
func (c *checker) pace(ctx context.Context, n int64) error {
	c.read += n
	for {
		if c.Read != nil {
			c.Read(c.read)
		}
		if c.Rate <= 0 {
			return ctx.Err()
		}
		due := time.Duration(float64(c.read) / float64(c.Rate) * float64(time.Second))
		wait := due - time.Since(c.begun)
		if wait < 10*time.Millisecond {
			return ctx.Err()
		}
		if err := pause(ctx, min(wait, tellEvery)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
