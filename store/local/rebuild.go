package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/meta"
	"github.com/varvedb/varve/store/local/sst"
)

// A rebuild creates a new database from all readable files, without the damaged list of files. It
// may be interrupted at any time:
//
//	pebble.new is being written    the rebuild starts over
//	DAMAGE is written              the rebuild starts over; losses are refused already
//	REBUILT is written             pebble.new is whole: finishRebuild puts it in place
//	pebble is moved into damaged   finishRebuild puts pebble.new in place
//	pebble.new becomes pebble      REBUILT is removed
//
// Obsolete files may be among the readable files. So an older version of an item may reappear: a
// revoked key, a lifted hold. This is reported, and recorded in DAMAGE until the operator accepts
// it.

const (
	rebuiltDir  = "pebble.new"
	rebuiltFile = "REBUILT"
)

// finishRebuild puts a rebuilt database in place, if a complete one exists. It deletes an incomplete one.
func (f *folder) finishRebuild() error {
	if _, err := f.fs.Stat(f.path(rebuiltFile)); errors.Is(err, fs.ErrNotExist) {
		return errors.Join(f.fs.RemoveAll(f.path(rebuiltDir)), f.fs.RemoveAll(f.path("salvage")))
	} else if err != nil {
		return err
	}
	if _, err := f.fs.Stat(f.path(rebuiltDir)); err == nil {
		if _, err := f.fs.Stat(f.path("pebble")); err == nil {
			if err := f.moveAside(f.path("pebble"), "pebble"); err != nil {
				return err
			}
		}
		if err := f.fs.Rename(f.path(rebuiltDir), f.path("pebble")); err != nil {
			return err
		}
		if err := meta.SyncFolder(f.fs, f.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(f.fs.Remove(f.path(rebuiltFile)), meta.SyncFolder(f.fs, f.dir))
}

// beingRebuilt reports whether the rebuilt database is complete, and finishRebuild still has to put it in
// place.
func (f *folder) beingRebuilt() bool {
	_, err := f.fs.Stat(f.path(rebuiltFile))
	return err == nil
}

// rebuild creates a new database and puts it in place. If the new database does not fit the
// journal, and Salvage is not set, rebuild fails and the old database stays.
func (o *opener) rebuild(chain journal.Chain, damage *errRebuild) error {
	f, reason := o.db.folder, damage.reason
	o.db.opts.Events.Damaged(f.path("pebble"), reason)
	if err := errors.Join(f.fs.RemoveAll(f.path(rebuiltDir)), f.fs.RemoveAll(f.path("salvage"))); err != nil {
		return err
	}
	list, err := o.db.folder.listFiles()
	if err != nil {
		return err
	}
	ranges, flushed, err := o.rebuildFrom(list, reason)
	if err != nil {
		return err
	}
	unknown := slices.ContainsFunc(ranges, func(l lost) bool { return l.overlaps(keyFlushed, next(keyFlushed)) })
	if p := chain.Lost(flushed); p != nil && !unknown {
		if !o.db.opts.Salvage {
			return errors.Join(f.damaged(p.String()), f.fs.RemoveAll(f.path(rebuiltDir)), f.fs.RemoveAll(f.path("salvage")))
		}
		o.lostSegments(chain, flushed)
	}
	now := o.db.opts.Now().UTC()
	ranges = append(ranges, damage.lost...)
	if err := o.db.ledger.rebuild(now, append(ranges, o.outdatedCatalog(now)...)); err != nil {
		return err
	}
	if err := f.write(rebuiltFile, reason.Error()+"\n"); err != nil {
		return err
	}
	if err := f.finishRebuild(); err != nil {
		return err
	}
	o.db.opts.Events.SetAside("pebble", append(o.report.describe(ranges), Loss{Items: true, Catalog: true, File: "pebble", Found: now, Reason: reason.Error(), Rebuilt: true}))
	return nil
}

// outdatedCatalog returns the ranges of counters and tables that may be out of date in a rebuilt database.
// They include the last flushed segment, the last chunk number and the next table number. If CATALOG is
// readable, they also include the tables and the generation of the catalog, because CATALOG replaces them.
// The flush of the replayed journal rewrites the flushed segment and the chunk number.
func (o *opener) outdatedCatalog(now time.Time) []lost {
	spaces := []byte{spaceFlushed, spaceTables, spaceChunks}
	// A readable CATALOG replaces the records of tables, too. Otherwise, the records that the rebuild
	// found are used.
	if generation, _, err := o.db.folder.readPair(catalogFile); err == nil && generation > 0 {
		spaces = append(spaces, spaceGeneration, spaceTable)
	}
	var ranges []lost
	for _, space := range spaces {
		ranges = append(ranges, lost{From: []byte{space}, To: []byte{space + 1}, File: "pebble", Found: now, Reason: "rebuilt", Rebuilt: true})
	}
	return ranges
}

func (l *ledger) rebuild(at time.Time, more []lost) error {
	if err := l.change(func(rec *lostRecord) { rec.Rebuilt = at }); err != nil {
		return err
	}
	return l.add(more)
}

// rebuildFrom writes the new database. It returns the losses, and the last segment of the journal
// that the database contains.
func (o *opener) rebuildFrom(list listing, reason error) (ranges []lost, flushed uint64, err error) {
	var sources []sst.Part
	defer func() {
		for _, p := range sources {
			err = errors.Join(err, p.File.Close())
		}
	}()
	numbers := make([]uint64, 0, len(list.tables))
	for number := range list.tables {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	slices.Reverse(numbers) // of entries with equal sequence numbers, the one in the newer file is used
	for _, number := range numbers {
		e, err := examineFile(o.db.folder.fs, o.db.folder.path("pebble", fileName(number)), o.db.options)
		if err != nil {
			return nil, 0, err
		}
		lostOne := lost{From: []byte{0}, To: []byte{0xff}, File: fileName(number), Found: o.db.opts.Now().UTC(), Rebuilt: true}
		if e.file == nil {
			// The file may have had any key, because Pebble's list of files, which has the range of
			// keys of each file, is lost.
			lostOne.Reason = fmt.Sprintf("%v: %v", reason, e.err)
			ranges = append(ranges, lostOne)
			continue
		}
		sources = append(sources, sst.Part{File: e.file})
		for _, g := range e.extent.Holes {
			l := lostOne
			l.Reason = g.Err.Error()
			if g.After != nil {
				l.From = next(g.After)
			}
			if g.Before != nil {
				l.To = g.Before
			}
			ranges = append(ranges, l)
		}
	}
	flushed, err = o.writeRebuilt(sources)
	return ranges, flushed, err
}

// writeRebuilt writes a new database from files. It returns the last segment of the journal that
// it contains.
func (o *opener) writeRebuilt(sources []sst.Part) (flushed uint64, err error) {
	f := o.db.folder
	for _, dir := range []string{"salvage", rebuiltDir} {
		if err := f.fs.MkdirAll(f.path(dir), 0o755); err != nil {
			return 0, err
		}
	}
	db, err := pebble.Open(f.path(rebuiltDir), o.db.options)
	if err != nil {
		return 0, err
	}
	c := &rewriter{out: sst.NewWriter(f.fs, f.path("salvage"), "all", o.db.options), db: db, counts: map[uint32]tableStats{}}
	if err := c.copyAll(sources); err != nil {
		return 0, errors.Join(err, c.out.Discard(), db.Close())
	}
	paths, err := c.out.Finish()
	if err == nil && len(paths) > 0 {
		err = db.Ingest(context.Background(), paths)
	}
	if err == nil {
		err = db.Flush()
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, err
	}
	if f.state == folderFormat1 {
		err = o.copyLogs()
	}
	return c.flushed, errors.Join(err, f.write(f.fs.PathJoin(rebuiltDir, "VARVE"), identityText(f.id)),
		meta.SyncFolder(f.fs, f.path(rebuiltDir)), meta.SyncFolder(f.fs, f.dir))
}

// copyLogs copies the logs of Pebble from a folder of format 1 to the rebuilt database. Recent items and holds
// may be in no other file. In format 2 they are in the journal, so the logs need not be copied.
func (o *opener) copyLogs() error {
	f := o.db.folder
	names, err := f.fs.List(f.path("pebble"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			if err := vfs.Copy(f.fs, f.path("pebble", name), f.path(rebuiltDir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriter copies entries into a new database. Without the list of files, merged chunks may
// reappear. If chunks of level 1 overlap, the later one is moved to level 0, where copies
// of readings are harmless.
type rewriter struct {
	out     *sst.Writer
	db      *pebble.DB
	flushed uint64                // the last segment of the journal in the database
	counts  map[uint32]tableStats // statistics of tables, by the number of the table
	prefix  []byte                // prefix of the keys of the previous series
	reach   int64                 // the last event time of that series in level 1 so far
}

func (c *rewriter) copyAll(sources []sst.Part) error {
	m, err := sst.NewMerge(sources)
	if err != nil {
		return err
	}
	for {
		ok, err := m.Next()
		if err == nil && !ok {
			err = c.putStats()
		}
		if err != nil || !ok {
			return errors.Join(err, m.Close())
		}
		e, _ := m.Entry()
		if !e.HasValue {
			continue
		}
		if err := c.copyOne(e.Key, e.Value); err != nil {
			return errors.Join(err, m.Close())
		}
	}
}

func (c *rewriter) copyOne(key, value []byte) error {
	switch key[0] {
	case spaceChunk:
		return c.copyChunk(key, value)
	case spaceStats:
		return nil // putStats writes the statistics
	case spaceFlushed:
		if len(value) == 8 {
			c.flushed = binary.BigEndian.Uint64(value)
		}
	}
	return c.out.Set(key, value)
}

func (c *rewriter) putStats() (err error) {
	batch := c.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	for number, st := range c.counts {
		if err := st.put(batch, number); err != nil {
			return err
		}
	}
	return c.db.Apply(batch, pebble.NoSync)
}

func (c *rewriter) copyChunk(key, value []byte) error {
	k, ok := parseChunkKey(key)
	h, err := chunk.ReadHeader(value)
	if !ok || err != nil {
		return c.out.Set(key, value) // a read of the chunk reports the damage
	}
	n := c.counts[k.number]
	n.readings += int64(h.Count)
	n.bytes += int64(len(key) + len(value))
	c.counts[k.number] = n
	if k.level != level1 {
		return c.out.Set(key, value)
	}
	space := key[:len(key)-chunkKeySuffix]
	if string(space) != string(c.prefix) {
		c.prefix, c.reach = append(c.prefix[:0], space...), -1
	}
	if h.MinTime <= c.reach { // chunks that share an event time may have the same readings
		demoted := slices.Clone(key)
		demoted[len(space)] = level0
		return c.db.Set(demoted, value, pebble.NoSync)
	}
	c.reach = max(c.reach, h.MaxTime)
	return c.out.Set(key, value)
}
