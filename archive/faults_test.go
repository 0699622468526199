package archive_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

var errInjected = errors.New("injected fault")

// fault is the kind of failure of one step of a process.
type fault int

const (
	failBefore fault = iota // the step fails and does nothing
	failAfter               // the step is done, and its answer is lost
	dieBefore               // the process dies before the step
	dieAfter                // the process dies after the step
	shorten                 // only the beginning of an object is written, without an error
	corrupt                 // an object is written with a wrong byte, without an error
	vanish                  // an object is written, and is missing afterward
	replace                 // an object is written, and another program replaces it afterward
	faults
)

// process injects a fault at one step of a process. After its death, every step fails.
type process struct {
	mu    sync.Mutex
	at    int // number of steps before the fault; negative means never
	fault fault
	dead  bool
	steps int
}

// step counts a step. It returns the fault of the step, or false if the step has none.
func (p *process) step() (fault, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return 0, false, errInjected
	}
	p.steps++
	if p.at < 0 || p.steps-1 != p.at {
		return 0, false, nil
	}
	injected.Add(1)
	if p.fault == dieBefore || p.fault == dieAfter {
		p.dead = true
	}
	return p.fault, true, nil
}

// do performs a step that writes no object.
func (p *process) do(step func() error) error {
	f, hit, err := p.step()
	if err != nil {
		return err
	}
	if hit && (f == failBefore || f == dieBefore) {
		return errInjected
	}
	err = step()
	if hit && (f == failAfter || f == dieAfter) {
		return errors.Join(err, errInjected)
	}
	return err
}

// faultyObjects is an object store that injects the fault of a process.
type faultyObjects struct {
	objectstore.Store
	*process
}

func (o faultyObjects) PutNew(ctx context.Context, key string, body []byte) error {
	f, hit, err := o.step()
	switch {
	case err != nil:
		return err
	case !hit:
		return o.Store.PutNew(ctx, key, body)
	case f == failBefore || f == dieBefore:
		return errInjected
	}
	switch body = slices.Clone(body); f {
	case shorten:
		body = body[:len(body)/2]
	case corrupt:
		body[len(body)/3] ^= 0x40
	default:
	}
	err = o.Store.PutNew(ctx, key, body)
	if err == nil && (f == vanish || f == replace) {
		err = o.Delete0(ctx, key)
		if err == nil && f == replace {
			err = o.Store.PutNew(ctx, key, append([]byte("other"), body...))
		}
	}
	if f == failAfter || f == dieAfter {
		err = errors.Join(err, errInjected)
	}
	return err
}

// Delete0 deletes an object without injecting a fault.
func (o faultyObjects) Delete0(ctx context.Context, key string) error {
	return o.Store.Delete(ctx, key)
}

func (o faultyObjects) Delete(ctx context.Context, key string) error {
	return o.do(func() error { return o.Store.Delete(ctx, key) })
}

func (o faultyObjects) Get(ctx context.Context, key string, offset, length int64) (body []byte, err error) {
	err = o.do(func() (err error) {
		body, err = o.Store.Get(ctx, key, offset, length)
		return err
	})
	return body, err
}

func (o faultyObjects) Stat(ctx context.Context, key string) (s objectstore.Object, err error) {
	err = o.do(func() (err error) {
		s, err = o.Store.Stat(ctx, key)
		return err
	})
	return s, err
}

func (o faultyObjects) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	return o.do(func() error { return o.Store.List(ctx, prefix, each) })
}

// faultyItems is a registry that injects the fault of a process.
type faultyItems struct {
	store.Items
	*process
}

func (i faultyItems) Get(ctx context.Context, keys []store.Key, consistent bool) (items []store.Item, err error) {
	err = i.do(func() (err error) {
		items, err = i.Items.Get(ctx, keys, consistent)
		return err
	})
	return items, err
}

func (i faultyItems) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return i.do(func() error { return i.Items.Put(ctx, it, conds...) })
}

func (i faultyItems) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return i.do(func() error { return i.Items.Delete(ctx, k, conds...) })
}

// faultySource is a store that injects the fault of a process.
type faultySource struct {
	archive.Source
	*process
}

func (s faultySource) Read(ctx context.Context, r store.Range, dst []varveReading) (p store.Page, err error) {
	err = s.do(func() (err error) {
		p, err = s.Source.Read(ctx, r, dst)
		return err
	})
	return p, err
}

// injected counts the faults that processes met, and the damage to objects, in all tests of the package.
var injected atomic.Int64

// genProcess draws a process with at most one fault.
func genProcess(t *rapid.T) *process {
	return &process{
		at:    rapid.SampledFrom([]int{-1, rapid.IntRange(0, 40).Draw(t, "step")}).Draw(t, "at"),
		fault: fault(rapid.IntRange(0, int(faults)-1).Draw(t, "fault")),
	}
}
