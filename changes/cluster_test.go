package changes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// link is the connection of a process to the store. While it is cut, writes of readings and calls for
// items fail, except DeleteAll. Other calls, such as Read, still reach the store.
type link struct {
	store.Store
	cut *atomic.Bool
	// before, if set, is called once, before the next write of a member's record.
	before *atomic.Pointer[func()]
	// beforeEnded, if set, is called once, before the next write of the record of ended members.
	beforeEnded *atomic.Pointer[func()]
}

var errCutOff = varve.Errorf(varve.Unavailable, "the store does not answer")

func (l link) check() error {
	if l.cut.Load() {
		return errCutOff
	}
	return nil
}

func (l link) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Store.Get(ctx, keys, consistent)
}

func (l link) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if err := l.check(); err != nil {
		return store.ItemPage{}, err
	}
	return l.Store.Query(ctx, q)
}

func (l link) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if strings.HasPrefix(it.SK, "SHARED#WRITER#") {
		if f := l.before.Swap(nil); f != nil {
			(*f)()
		}
	}
	if it.SK == "SHARED#ENDED" {
		if f := l.beforeEnded.Swap(nil); f != nil {
			(*f)()
		}
	}
	return errors.Join(l.check(), l.unlessCut(func() error { return l.Store.Put(ctx, it, conds...) }))
}

func (l link) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return errors.Join(l.check(), l.unlessCut(func() error { return l.Store.Delete(ctx, k, conds...) }))
}

func (l link) PutAll(ctx context.Context, items []store.Item) error {
	return errors.Join(l.check(), l.unlessCut(func() error { return l.Store.PutAll(ctx, items) }))
}

func (l link) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Store.PutAbsent(ctx, items)
}

func (l link) Write(ctx context.Context, batches []store.Batch) []store.Result {
	if l.cut.Load() {
		results := make([]store.Result, len(batches))
		for i := range results {
			results[i].Err = errCutOff
		}
		return results
	}
	return l.Store.Write(ctx, batches)
}

func (l link) unlessCut(do func() error) error {
	if l.cut.Load() {
		return nil
	}
	return do()
}

// nodes are processes with one store. Their clocks differ by up to nine minutes.
type nodes struct {
	t      TB
	all    []*world
	cuts   []*atomic.Bool
	before []*atomic.Pointer[func()]
	ended  []*atomic.Pointer[func()] // see link.beforeEnded
	// readers are consumers that poll any of the processes.
	readers []*consumer
	late    *lateWrites
}

// newNodes starts the processes. If the function "open" is nil, they share a store in memory.
func newNodes(t TB, open func(now func() time.Time) store.Store) *nodes {
	n := &nodes{t: t}
	first := &model{clock: start, acked: map[string]bool{}}
	if open == nil {
		s := mem.New((&world{model: first}).now)
		open = func(func() time.Time) store.Store { return s }
	}
	n.late = &lateWrites{model: first}
	n.readers = []*consumer{{got: map[string]time.Time{}}, {device: devices[0], got: map[string]time.Time{}}}
	stored, mu := map[string]time.Time{}, new(sync.Mutex)
	for i := range 3 {
		cut, before, ended := new(atomic.Bool), new(atomic.Pointer[func()]), new(atomic.Pointer[func()])
		w := &world{t: t, model: first, indexed: true, shared: true, offset: []time.Duration{0, 4 * time.Minute, -5 * time.Minute}[i]}
		w.store = lasting{Store: link{open(w.now), cut, before, ended}, mu: mu, stored: stored, late: n.late}
		n.all, n.cuts, n.before, n.ended = append(n.all, w), append(n.cuts, cut), append(n.before, before), append(n.ended, ended)
		w.open()
		n.renew(w)
	}
	// Create the stream. The index of a new stream is complete immediately, without startDelay.
	n.all[0].send(0, n.all[0].reading(devices[0], start))
	return n
}

func (n *nodes) close() {
	for i, w := range n.all {
		n.cuts[i].Store(false)
		for len(w.flights) > 0 {
			w.release(0, errCut)
		}
		w.close()
	}
}

// renew stores the oldest arrival of a process. It may fail while the store does not answer.
func (n *nodes) renew(w *world) {
	if err := w.engine.Cluster.Renew(context.Background()); err != nil && varve.FailureOf(err) != varve.Unavailable {
		n.t.Fatalf("renew: %v", err)
	}
	if err := w.engine.Changes.Refresh(context.Background()); err != nil && varve.FailureOf(err) != varve.Unavailable {
		n.t.Fatalf("refresh: %v", err)
	}
}

func (n *nodes) any(t *rapid.T) *world { return rapid.SampledFrom(n.all).Draw(t, "process") }

// kill ends a process without its Close, and starts another one.
func (n *nodes) kill(t *rapid.T) {
	i := rapid.IntRange(0, len(n.all)-1).Draw(t, "process")
	w := n.all[i]
	n.cuts[i].Store(true)
	for len(w.flights) > 0 {
		w.release(0, errCut)
	}
	// Close fails, so the record of the process stays.
	_ = w.engine.Close()
	n.cuts[i].Store(false)
	w.open()
	n.renew(w)
}

// stop ends a process with its Close, and starts another one.
func (n *nodes) stop(t *rapid.T) {
	w := n.any(t)
	for len(w.flights) > 0 {
		w.releaseSome(t)
	}
	w.close()
	w.open()
	n.renew(w)
}

// pass advances all clocks. If the deadline of a late write is not after the new time, it first performs
// all late writes.
func (n *nodes) pass(d time.Duration) {
	n.late.performBefore(n.all[0].clock.Add(d))
	n.all[0].pass(d)
}

// finish ends all writes and lets the arrivals of dead processes settle. Then it checks all consumers.
func (n *nodes) finish(t *rapid.T) {
	for i, w := range n.all {
		n.cuts[i].Store(false)
		for len(w.flights) > 0 {
			w.releaseSome(t)
		}
	}
	for _, d := range []time.Duration{40 * time.Minute, 0, 50 * time.Second, 50 * time.Second, 0} {
		n.pass(d)
		for _, w := range n.all {
			n.renew(w)
		}
	}
	for _, c := range append(n.readers, &consumer{got: map[string]time.Time{}}) {
		n.all[0].check(c)
		if behind := n.all[0].clock.Sub(c.cursor.Since); behind > 10*time.Minute {
			t.Fatalf("the settled time is %s behind, although all processes have renewed their records", behind)
		}
	}
}

// TestChanges_AreTheWholeOfCluster executes random steps of three processes with one store. Writes stop at
// any stage, fail, are repeated, or are performed by the store after their caller gave up. Processes are
// killed, stopped and cut off, and their clocks differ. Together, the increments of each consumer must
// contain all acknowledged readings that it asks for, each exactly once.
func TestChanges_AreTheWholeOfCluster(t *testing.T) {
	repeatRuns(t, func() {
		rapid.Check(t, func(t *rapid.T) {
			n := newNodes(t, nil)
			defer n.close()
			t.Repeat(n.steps())
			n.finish(t)
		})
	})
}

// steps returns the random steps of the processes.
func (n *nodes) steps() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"send":    func(t *rapid.T) { n.any(t).sendSome(t, 0) },
		"begin":   func(t *rapid.T) { n.any(t).sendSome(t, rapid.SampledFrom([]stage{1, 2, 3, 4}).Draw(t, "stage")) },
		"release": func(t *rapid.T) { n.any(t).releaseSome(t) },
		"late":    func(t *rapid.T) { n.late.perform() },
		"renew":   func(t *rapid.T) { n.renew(n.any(t)) },
		"advance": n.advance,
		"cut":     func(t *rapid.T) { rapid.SampledFrom(n.cuts).Draw(t, "cut").Store(rapid.Bool().Draw(t, "is cut")) },
		"kill": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "kill") == 0 {
				n.kill(t)
			}
		},
		"stop": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "stop") == 0 && !n.cuts[0].Load() && !n.cuts[1].Load() && !n.cuts[2].Load() {
				n.stop(t)
			}
		},
		"poll": func(t *rapid.T) {
			i := rapid.IntRange(0, len(n.all)-1).Draw(t, "process")
			c := rapid.SampledFrom(n.readers).Draw(t, "reader")
			limit := rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(t, "limit")
			if !n.cuts[i].Load() {
				n.all[i].poll(c, limit)
			}
		},
		"check": func(t *rapid.T) {
			i := rapid.IntRange(0, len(n.all)-1).Draw(t, "process")
			c := rapid.SampledFrom(n.readers).Draw(t, "reader")
			if !n.cuts[i].Load() {
				n.all[i].check(c)
			}
		},
	}
}

func (n *nodes) advance(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second, 20 * time.Second, 50 * time.Second, 2 * time.Minute, 7 * time.Minute,
		30 * time.Minute, 5 * time.Hour, 20 * 24 * time.Hour,
	}).Draw(t, "by")
	for i, w := range n.all { // ends the writes that would last longer than the limit of a write
		for by >= 7*time.Minute && len(w.flights) > 0 {
			w.release(0, errCut)
		}
		if by > time.Hour && !n.cuts[i].Load() {
			// Failures are visible in the events and the health of the rotator.
			_, _ = w.engine.Rotator.Run(t.Context())
		}
	}
	n.pass(by)
}

// lateWrites are writes whose callers gave up, and which the store performs within changes.Linger.
type lateWrites struct {
	*model
	list []lateWrite
}

type lateWrite struct {
	do func()
	by time.Time
}

func (l *lateWrites) add(do func()) {
	l.list = append(l.list, lateWrite{do, l.clock.Add(changes.Linger)})
}

func (l *lateWrites) perform() {
	for _, w := range l.list {
		w.do()
	}
	l.list = nil
}

// performBefore performs all writes if one of them has a deadline at or before a time.
func (l *lateWrites) performBefore(t time.Time) {
	for _, w := range l.list {
		if !t.Before(w.by) {
			l.perform()
			return
		}
	}
}
