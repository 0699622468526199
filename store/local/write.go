package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/reuse"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/memtable"
)

// writer stores readings in the journal and in memory.
type writer struct {
	db  *database
	mem *memory
}

// Write implements store.Writer.
func (wr *writer) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	if err := wr.write(ctx, batches, results); err != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i] = store.Result{Err: err}
			}
		}
	}
	return results
}

func (wr *writer) write(ctx context.Context, batches []store.Batch, results []store.Result) error {
	if err := wr.db.life.enter(ctx); err != nil {
		return err
	}
	defer wr.db.life.leave()
	if err := wr.db.guard.CheckReadings(); err != nil {
		return err
	}
	w := pendingWrites.Get()
	defer w.release()
	w.begin(wr.mem, batches, results)
	if w.small() {
		wr.db.lanes.Small()
	}
	commit, err := w.place(ctx)
	if err != nil {
		return err
	}
	if commit == nil {
		return nil
	}
	if err := commit.Wait(ctx); err != nil {
		return wr.db.guard.Unavailable(err)
	}
	return nil
}

// pendingWrite has the state of one Write. Its buffers are reused.
type pendingWrite struct {
	mem     *memory
	batches []store.Batch
	results []store.Result
	groups  []group          // in the order of their shards
	next    int              // the first group that is not inserted completely
	last    *journal.Commit  // commit of the inserted readings, or nil
	rows    []memtable.Entry // rows of all groups
	bodies  []byte           // bodies of the rows, one after another
	late    []*lookup        // readings to be looked up in chunks
	met     []meeting        // readings to be compared with the stored ones of the same identity
	record  memtable.Record

	unsorted []group // the groups in the order of the batches
	starts   []int   // for each shard, the index of its next group while groups are sorted
}

var pendingWrites reuse.List[pendingWrite]

func (w *pendingWrite) release() {
	clear(w.groups)
	clear(w.unsorted)
	clear(w.late)
	clear(w.met)
	*w = pendingWrite{
		groups: w.groups[:0], unsorted: w.unsorted[:0], starts: w.starts, rows: w.rows[:0], bodies: w.bodies[:0],
		late: w.late[:0], met: w.met[:0], record: w.record,
	}
	if cap(w.bodies) <= 4<<20 {
		pendingWrites.Put(w)
	}
}

// smallReadings is the maximum number of readings of a small write.
const smallReadings = 64

// small reports whether the write has at most smallReadings readings. Background work pauses for small
// writes.
func (w *pendingWrite) small() bool { return len(w.rows) <= smallReadings }

// begin encodes the readings of batches whose tables exist, and groups them. It sets the errors of the
// other batches.
func (w *pendingWrite) begin(m *memory, batches []store.Batch, results []store.Result) {
	w.mem, w.batches, w.results = m, batches, results
	n := 0
	for i := range batches {
		n += len(batches[i].Readings)
	}
	w.rows = slices.Grow(w.rows, n) // so that the rows of groups do not move
	for i := range batches {
		b := &batches[i]
		m.mu.RLock()
		tb, err := m.table(b.Table)
		m.mu.RUnlock()
		if err != nil {
			results[i].Err = err
			continue
		}
		verdicts := b.Verdicts
		if verdicts == nil {
			verdicts = make([]varve.Verdict, len(b.Readings))
		}
		clear(verdicts)
		results[i].Verdicts = verdicts
		for from := 0; from < len(b.Readings); {
			to := from + 1
			for to < len(b.Readings) && b.Readings[to].Series == b.Readings[from].Series {
				to++
			}
			w.addGroup(i, tb, b.Readings[from:to], verdicts[from:to])
			from = to
		}
	}
	w.sortGroups()
}

// sortGroups sorts the groups by shard, so that each shard is locked few times. The groups of a shard
// keep their order.
func (w *pendingWrite) sortGroups() {
	if len(w.groups) < 2 {
		return
	}
	w.starts = append(w.starts[:0], make([]int, len(w.mem.mu.shards)+1)...)
	for i := range w.groups {
		w.starts[w.groups[i].shard+1]++
	}
	for i := 1; i < len(w.starts); i++ {
		w.starts[i] += w.starts[i-1]
	}
	w.unsorted, w.groups = w.groups, slices.Grow(w.unsorted[:0], len(w.groups))[:len(w.groups)]
	for i := range w.unsorted {
		g := &w.unsorted[i]
		w.groups[w.starts[g.shard]] = *g
		w.starts[g.shard]++
	}
}

// expectedBody is the assumed size of an encoded body, in bytes. A larger body may cost another
// allocation.
const expectedBody = 64

func (w *pendingWrite) addGroup(batch int, t *table, readings []varve.Reading, verdicts []varve.Verdict) {
	begin := len(w.rows)
	first, base := int64(math.MaxInt64), t.base()
	for i := range readings {
		var e memtable.Entry
		w.bodies, e = memtable.Encode(reuse.Grow(w.bodies, expectedBody), &readings[i], base)
		first = min(first, e.Time)
		w.rows = append(w.rows, e)
	}
	w.groups = append(reuse.Grow(w.groups, 1), group{
		batch: batch, table: t, shard: w.mem.mu.indexOf(readings[0].Series), readings: readings, verdicts: verdicts, rows: w.rows[begin:], first: first,
	})
}

// place adds new readings to their series buffers and to the journal. It returns the commit that
// makes the verdicts valid, or nil if they are valid already.
func (w *pendingWrite) place(ctx context.Context) (*journal.Commit, error) {
	for {
		if err := w.mem.waitForRoom(ctx, w.small()); err != nil {
			return nil, err
		}
		if err := w.findBuffers(); err != nil {
			return nil, err
		}
		done, err := w.insert()
		if err != nil {
			return nil, err
		}
		if done {
			return w.last, w.compareMet()
		}
	}
}

// findBuffers finds or creates the series buffers of the groups, and looks up readings in chunks if
// chunks may have them. It may read from disk, so it runs while no shard is locked.
func (w *pendingWrite) findBuffers() error {
	missing := 0
	w.late = w.late[:0]
	w.eachShard(func(groups []group, s *shard) {
		s.RLock()
		defer s.RUnlock()
		missing += findExisting(groups)
	})
	if missing > 0 {
		w.eachShard(w.makeMissing)
		w.mem.requestEviction() // duplicates create series buffers that are never flushed
	}
	w.eachShard(w.collectLate)
	if len(w.late) == 0 {
		return nil
	}
	return w.lookUpLate()
}

// eachShard calls a function with the remaining groups of each shard.
func (w *pendingWrite) eachShard(do func([]group, *shard)) {
	for from := w.next; from < len(w.groups); {
		to := from + 1
		for to < len(w.groups) && w.groups[to].shard == w.groups[from].shard {
			to++
		}
		do(w.groups[from:to], &w.mem.mu.shards[w.groups[from].shard])
		from = to
	}
}

// findExisting finds existing series buffers and counts missing ones. The caller has locked the shard.
func findExisting(groups []group) (missing int) {
	for i := range groups {
		g := &groups[i]
		if g.buffer == nil || g.buffer.evicted {
			g.buffer = g.table.buffers[g.shard][g.readings[0].Series]
		}
		if g.buffer == nil {
			missing++
		}
	}
	return missing
}

func (w *pendingWrite) makeMissing(groups []group, s *shard) {
	s.Lock()
	defer s.Unlock()
	for i := range groups {
		if g := &groups[i]; g.buffer == nil || g.buffer.evicted {
			g.buffer = w.mem.makeBuffer(g.table, g.shard, g.readings[0].Series)
		}
	}
}

// collectLate collects the readings that must be looked up in chunks.
func (w *pendingWrite) collectLate(groups []group, s *shard) {
	s.RLock()
	defer s.RUnlock()
	for i := range groups {
		if g := &groups[i]; !g.chunksKnown() {
			w.late = g.appendLate(w.late)
		}
	}
}

// insertAtOnce is the maximum number of readings that are inserted before the shard is unlocked. So a
// small write does not wait until a large one ends.
const insertAtOnce = 512

// insert adds the remaining readings to series buffers and the journal. It unlocks the shard after every
// insertAtOnce readings. Frames become durable in order, so the last commit covers all of them.
// insert returns false if the result of a lookup in chunks is out of date.
func (w *pendingWrite) insert() (done bool, err error) {
	for w.next < len(w.groups) {
		if done, err := w.insertSome(); !done || err != nil {
			return false, err
		}
	}
	w.mem.mu.RLock()
	defer w.mem.mu.RUnlock()
	w.markDropped()
	return true, nil
}

// insertSome locks a shard and inserts at most insertAtOnce readings of its series. The record is in the
// journal before the shard is unlocked. So the readings of a memtable are in its segment, and a duplicate
// of one of the readings finds the commit to wait for.
func (w *pendingWrite) insertSome() (done bool, err error) {
	at := w.groups[w.next].shard
	s := &w.mem.mu.shards[at]
	s.Lock()
	defer s.Unlock()
	if err := w.mem.db.journal.Ready(); err != nil {
		return false, w.mem.db.guard.Unavailable(err)
	}
	w.record.Begin(w.mem.records.Add(1))
	waits := false
	done = true
	for n := insertAtOnce; n > 0 && w.next < len(w.groups) && w.groups[w.next].shard == at; {
		g := &w.groups[w.next]
		if !g.chunksKnown() && !g.table.dropped {
			done = false
			break
		}
		some := min(n, len(g.rows)-g.done)
		if !g.table.dropped { // if the table was dropped, markDropped sets the error of the batch
			g.buffer.changes.Begin()
			waits = w.insertGroup(g, g.done+some) || waits
			g.buffer.changes.End()
		}
		n -= some
		if g.done += some; g.done == len(g.rows) {
			w.next++
		}
	}
	switch {
	case !w.record.IsEmpty():
		w.last = w.mem.db.journal.Append(journal.Readings, w.record.Payload())
	case waits:
		// The stored reading of a duplicate may not be durable yet, so wait for the pending commit.
		if c := w.mem.db.journal.Pending(); c != nil {
			w.last = c
		}
	}
	if w.mem.mutable.IsFull(w.mem.db.opts.MemtableBytes) {
		w.mem.requestFlush() // after Append, because a flush skips an empty segment
	}
	return done, nil
}

// insertGroup inserts the next readings of a group up to an index. It reports whether the series
// buffer had one of them already.
func (w *pendingWrite) insertGroup(g *group, end int) (waits bool) {
	mt, i := w.mem.mutable.Shards[g.shard], g.done
	for i < end {
		if n := g.countAscending(mt, i, end); n > 0 {
			rows := g.rows[i : i+n]
			bodies := w.bodies[rows[0].From:rows[n-1].To]
			w.mem.appendEntries(g.buffer, rows, g.shape, bodies)
			w.record.Add(&g.buffer.Source, rows, g.shape, mt.Names(g.shape), bodies)
			for j := range n {
				g.verdicts[i+j].Outcome = varve.Stored
			}
			i += n
			continue
		}
		waits = w.insertOne(g, i) || waits
		i++
	}
	return waits
}

// insertOne inserts a reading that cannot be appended, unless it is stored already. It sets the
// verdict. It reports whether the series buffer had the reading already.
func (w *pendingWrite) insertOne(g *group, i int) (waits bool) {
	fresh, v := &g.rows[i], &g.verdicts[i]
	if g.lookups != nil && g.lookups[i].inChunk.Outcome != 0 {
		*v = g.lookups[i].inChunk
		return false
	}
	for _, mt := range []*memtable.Memtable{w.mem.immutable, w.mem.mutable} {
		if mt == nil {
			continue
		}
		part := mt.Shards[g.shard]
		at, found := g.buffer.rows[mt.Parity].FindReading(&part.Content, &g.readings[i])
		if found {
			v.Outcome = varve.Duplicate
			if fresh.OwnID {
				w.met = append(w.met, meeting{&g.readings[i], v, g.buffer.view(mt, []memtable.Row{g.buffer.rows[mt.Parity].At(at)})})
			}
			return true
		}
		if mt == w.mem.mutable {
			body := w.bodies[fresh.From:fresh.To]
			g.shape = part.Shape(g.readings[i].Fields, g.shape)
			w.mem.insertEntry(g.buffer, at, *fresh, g.shape, body)
			w.record.Add(&g.buffer.Source, g.rows[i:i+1], g.shape, part.Names(g.shape), body)
		}
	}
	v.Outcome = varve.Stored
	return false
}

// markDropped sets the error of batches whose table was dropped meanwhile, even if a table of the same
// name exists now.
func (w *pendingWrite) markDropped() {
	for i := range w.groups {
		if g := &w.groups[i]; g.table.dropped {
			w.results[g.batch] = store.Result{Err: fmt.Errorf("%s: %w", g.table.Table, store.ErrNoTable)}
		}
	}
}
