package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/memtable"
)

// Recovery is the result of reading the journal in Open.
type Recovery struct {
	Readings int64 // number of replayed readings
	Changes  int   // number of replayed batches that change items or tables
	// Torn lists ends of the journal that failed their checks and were discarded.
	//
	// Each is a write that a crash interrupted, or rarely, an acknowledged one that was damaged.
	Torn []journal.Torn
	// Notes lists repaired damage without losses.
	Notes []journal.Problem
	Took  time.Duration
}

// TornBytes returns the number of discarded bytes, and of the whole frames in them.
func (r *Recovery) TornBytes() (bytes int64, frames int) {
	for _, t := range r.Torn {
		bytes += t.Bytes
		frames += t.Frames
	}
	return bytes, frames
}

// flushedSegment returns the last segment of the journal that is in Pebble.
func flushedSegment(db *pebble.DB) (uint64, error) {
	data, err := get(db, keyFlushed)
	if err != nil || data == nil {
		return 0, err
	}
	if len(data) != 8 {
		return 0, fmt.Errorf("the number of the flushed segment has %d bytes, not 8", len(data))
	}
	return binary.BigEndian.Uint64(data), nil
}

// recovery replays the journal when the store is opened.
type recovery struct {
	db      *database
	mem     *memory
	catalog *catalog
	flusher *flusher
	repair  *repair
	// flushedLost means that replayed readings may be in chunks already.
	flushedLost bool
}

// readFlushed returns the last segment of the journal that need not be replayed, as recorded in
// Pebble. In two cases, it returns the segment before the chain, so that the whole chain is replayed:
//
//   - The record is lost.
//   - The chain includes the recorded segment, and all of its segments are readable. Then a file of
//     Pebble may lack their contents.
func (rc *recovery) readFlushed() (segment uint64, err error) {
	segment, err = flushedSegment(rc.db.DB)
	if err != nil && !isDamage(err) {
		return segment, err
	}
	known := err == nil && rc.db.ledger.findKey(keyFlushed) == nil
	chain, _, _, err := journal.ReadChain(rc.db.opts.FS, rc.db.folder.path("journal"))
	if err != nil {
		return 0, err
	}
	if known && (chain.First == 0 || chain.First > segment) {
		return segment, nil
	}
	if known {
		if whole, err := rc.journalWhole(chain.First - 1); err != nil || !whole {
			return segment, err
		}
	}
	rc.flushedLost = true
	if chain.First == 0 {
		if chain.First, err = rc.db.folder.oldestSegment(); err != nil {
			return 0, err
		}
	}
	return max(chain.First, 1) - 1, nil
}

// beginJournal makes the replayed data durable in Pebble, up to the last segment, and begins the
// next segment. The chain records the next segment first. So even after a power cut in between, the
// chain includes the last segment that Pebble has.
func (rc *recovery) beginJournal(last uint64, problems []journal.Problem) error {
	next, err := journal.Begin(rc.db.opts.FS, rc.db.folder.path("journal"), rc.db.folder.id, last+1)
	if err != nil {
		return err
	}
	err = rc.flushReplayed(last)
	if err == nil {
		// The flush has rewritten keyFlushed and keyLastChunk, so they are no longer lost.
		err = errors.Join(rc.db.ledger.remove(keyFlushed, after(keyFlushed)), rc.db.ledger.remove(keyLastChunk, after(keyLastChunk)))
	}
	if err == nil {
		err = rc.renameDamaged(problems)
	}
	if err != nil {
		return errors.Join(err, next.Abandon())
	}
	if err := next.Start(); err != nil {
		return err
	}
	rc.db.journal = next
	return nil
}

// journalWhole reports whether the journal after a segment is readable.
func (rc *recovery) journalWhole(after uint64) (bool, error) {
	src := rc.journalAfter(after)
	src.Salvage = false
	_, err := src.Replay(func(journal.Frame) error { return nil })
	if errors.Is(err, store.ErrDamaged) {
		return false, nil
	}
	return err == nil, err
}

func (rc *recovery) journalAfter(segment uint64) journal.Source {
	return journal.Source{
		FS: rc.db.opts.FS, Dir: rc.db.folder.path("journal"), Store: rc.db.folder.id, After: segment,
		Unchained: rc.db.folder.state != folderReady, Salvage: rc.db.opts.Salvage,
	}
}

// recoverJournal replays the journal, flushes its readings into chunks, and begins a new segment.
// The last segment may end in an interrupted write, so no frames may follow in it.
func (rc *recovery) recoverJournal() error {
	begin := time.Now()
	if rc.db.folder.state == folderFormat1 {
		if err := rc.catalog.quarantine.retryAfterDamage(func() error { return upgradeKeys(rc.db.DB) }); err != nil {
			return err
		}
	}
	flushed, err := rc.readFlushed()
	if err != nil {
		return err
	}
	rep, err := rc.replay(flushed)
	if errors.Is(err, store.ErrDamaged) {
		return withRemedy(rc.db.opts.Dir, fmt.Errorf("journal: %w", err))
	}
	if err != nil {
		return err
	}
	found := Recovery{Readings: rc.mem.mutable.Readings(), Torn: rep.Torn, Notes: rep.Notes}
	for _, segment := range rep.Segments {
		found.Changes += segment.Batches
	}
	losses := append(rc.db.folder.losses, lossesOf(rep.Problems)...)
	// Record the losses before beginJournal. If Open is interrupted after it, the damage may no longer be
	// in the journal.
	if err := rc.repair.addUnknown(losses); err != nil {
		return err
	}
	if err := rc.beginJournal(max(rep.Last, flushed), rep.Problems); err != nil {
		return err
	}
	if err := rc.db.folder.finish(); err != nil {
		return err
	}
	found.Took = time.Since(begin)
	rc.db.opts.Events.Recovered(found)
	if len(losses) > 0 {
		rc.db.opts.Events.Lost(losses)
	}
	return nil
}

// replay applies the changes in the journal first, so that the tables have their final state, and then
// replays the readings.
func (rc *recovery) replay(flushed uint64) (rep journal.Report, err error) {
	src := rc.journalAfter(flushed)
	changes := func() (err error) {
		rep, err = src.Replay(func(f journal.Frame) error {
			if f.Kind != journal.Batch {
				return nil
			}
			return rc.catalog.changes.replay(f.Payload)
		})
		return err
	}
	if err := changes(); err != nil {
		return rep, err
	}
	// Damaged files are set aside only now, so that items that the journal has restored do not
	// count as lost.
	if err := rc.catalog.quarantine.retryAfterDamage(func() error { return rc.catalog.quarantine.setAsideAll(rc.db.life.background) }); err != nil && !isDamage(err) {
		return rep, err
	} // remaining damaged data is refused, and set aside in the background
	if err := rc.catalog.load(changes); err != nil {
		return rep, err
	}
	return src.Replay(func(f journal.Frame) error {
		if f.Kind != journal.Readings {
			return nil
		}
		return rc.replayReadings(f.Payload)
	})
}

// replay applies a change of the journal.
func (c *changeLog) replay(payload []byte) (err error) {
	batch := c.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	if err := batch.SetRepr(slices.Clone(payload)); err != nil {
		return fmt.Errorf("a change in the journal cannot be read: %w", err)
	}
	return c.db.Apply(batch, pebble.NoSync)
}

// flushReplayed flushes the replayed readings into chunks, and records their last segment. The
// store is not in use yet.
func (rc *recovery) flushReplayed(segment uint64) error {
	mt := rc.mem.mutable
	mt.Segment = segment
	rc.mem.mutable, rc.mem.immutable = memtable.New(1-mt.Parity, len(rc.mem.mu.shards), rc.db.opts.columnCache()), mt
	return rc.flusher.flushImmutable(context.Background())
}

func lossesOf(problems []journal.Problem) []Loss {
	losses := make([]Loss, 0, len(problems))
	for _, p := range problems {
		losses = append(losses, Loss{File: "journal/" + p.File, Journal: true, Reason: "journal: " + p.String(), Segment: p.Segment, Bytes: p.To - p.From})
	}
	return losses
}

// damagedSuffix ends the names of segments with problems.
const damagedSuffix = ".damaged"

// renameDamaged renames the segments with problems, so that they are not removed with the other
// segments.
func (rc *recovery) renameDamaged(problems []journal.Problem) error {
	kept := map[string]bool{}
	for _, p := range problems {
		path := rc.db.folder.path("journal", p.File)
		if p.Segment == 0 || kept[p.File] {
			continue
		}
		if _, err := rc.db.opts.FS.Stat(path); err != nil {
			continue // the segment is missing
		}
		kept[p.File] = true
		if err := rc.db.opts.FS.Rename(path, path+damagedSuffix); err != nil {
			return err
		}
	}
	return nil
}
