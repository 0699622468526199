package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/objectstore"
)

const (
	// renewEvery is the pause between two renewals of a mark.
	renewEvery = 30 * time.Second
	// lostAfter is the age after which a process no longer uses its own mark.
	lostAfter = 3 * time.Minute
	// stepTime is how long a deletion may take that began before that age.
	stepTime = 2 * time.Minute
	// maxClockSkew is the tolerated difference between the clocks of two processes. It equals
	// lease.MaxClockSkew.
	maxClockSkew = 10 * time.Minute
	// abandonedAfter is the age of a mark after which its process counts as dead. The process itself stops
	// earlier, even if the clocks differ by maxClockSkew.
	abandonedAfter = lostAfter + stepTime + maxClockSkew
	// markTime is how long the write or the deletion of a mark may take.
	markTime = time.Minute
	// markLayout is the layout of the times in marks.
	markLayout = "20060102T150405Z"
)

// mark is an object that permits only one process at a time to change a place. Its key has the time of
// its last renewal. A renewal writes an object with a new key, because objects are never replaced.
//
// Two processes do not change a place at the same time if their clocks differ by at most maxClockSkew:
//
//   - A process writes its mark and then lists all marks. It fails if another mark is not abandoned. So of
//     two processes that begin at the same time, at least one fails.
//   - A process whose mark is older than lostAfter fails, and never renews that mark. Another process begins
//     later than that, because the mark is then older than abandonedAfter.
//   - A process deletes the abandoned marks that it finds. A process without its mark fails, too. That
//     stops most processes whose clocks differ by more.
//
// A process may be suspended inside a step, after it confirmed its mark. Make therefore checks the mark after
// it wrote the manifest. A deletion cannot be undone, so delete reports it.
type mark struct {
	place *Place

	mu       sync.Mutex
	key      string    // the last key, or "" before the first write
	previous string    // the key before the last one, or ""
	at       time.Time // time of the last renewal
	keys     []string  // all keys that may exist
	failure  error     // error of the last renewal, or nil
	lost     error     // reason why the mark is invalid for good, or nil
}

// withMark calls a function while no other process changes the place. Meanwhile, it renews its mark. It fails
// if another mark exists that is not abandoned.
func (p *Place) withMark(ctx context.Context, do func(*mark) error) (err error) {
	m := &mark{place: p}
	defer func() { err = errors.Join(err, m.remove(ctx)) }()
	if err := m.write(ctx); err != nil {
		return err
	}
	if err := m.claim(ctx); err != nil {
		return err
	}
	stop := m.startRenewals(ctx)
	defer stop()
	return do(m)
}

// claim fails if another process has a mark, and deletes abandoned marks.
//
// A mark exists for at least renewEvery after the next one was written. So the list has a mark of
// each running process unless the list took longer.
func (m *mark) claim(ctx context.Context) error {
	begin := m.place.now()
	marks, err := m.place.list(ctx, runningPrefix)
	if err != nil {
		return err
	}
	if took := m.place.age(begin); took >= renewEvery {
		return m.place.failed(fmt.Errorf("took %s to list %s: run the command again", took.Round(time.Second), runningPrefix))
	}
	delete(marks, m.key)
	for key := range marks {
		if !m.place.abandoned(key) {
			return m.place.failed(fmt.Errorf("another backup is under way (%s): wait for its end, or for %d minutes if its process has died", key, abandonedAfter/time.Minute))
		}
	}
	for key := range marks {
		if err := m.place.removeMark(ctx, key); err != nil {
			return m.place.failed(fmt.Errorf("delete an abandoned mark: %w", err))
		}
	}
	return nil
}

// startRenewals renews the mark in the background until the function "stop" is called, or ctx ends.
func (m *mark) startRenewals(ctx context.Context) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				return
			case <-time.After(renewEvery): // counts from the end of the last renewal: see claim
				m.renew(ctx)
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// renew renews the mark unless it is lost. After a failure, the next call retries, and the mark remains
// valid until lostAfter.
func (m *mark) renew(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure = m.verify(ctx); m.failure != nil {
		return
	}
	if m.failure = m.write(ctx); m.failure != nil {
		return
	}
	var left []string
	for _, key := range m.keys {
		// If a deletion fails, the next renewal or remove retries. Until then, one more mark exists, which is harmless.
		if key == m.key || key == m.previous || m.place.removeMark(ctx, key) != nil {
			left = append(left, key)
		}
	}
	m.keys = left
}

// write writes a mark with a random key. After a failure, the mark may exist, so its key is recorded before.
// If the write took so long that the previous mark is lost, the new one is not used.
func (m *mark) write(ctx context.Context) error {
	at := m.place.now()
	key := runningPrefix + at.UTC().Format(markLayout) + "-" + rand.Text()
	m.keys = append(m.keys, key)
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	err := m.place.put(ctx, key, []byte("varve backup or varve backup prune is running\n"))
	if err != nil && !errors.Is(err, objectstore.ErrExists) { // ErrExists: the client has repeated a request after a lost answer
		return m.place.failed(err)
	}
	if m.key != "" {
		if err := m.checkLost(); err != nil {
			return err
		}
	}
	m.previous, m.key, m.at = m.key, key, at
	return nil
}

// checkAge fails if the process was suspended, or failed to renew the mark, for so long that another process
// may have changed the place. If it succeeds, the mark was valid all the time.
func (m *mark) checkAge() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checkLost()
}

// confirm fails if the mark is too old, or if another process has deleted it. It must be called before each
// change of the place that another process could notice.
func (m *mark) confirm(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.verify(ctx)
}

// checkLost implements checkAge. The caller has locked the mark.
func (m *mark) checkLost() error {
	if age := m.place.age(m.at); m.lost == nil && age > lostAfter {
		err := fmt.Errorf("could not renew its mark for %s, so another backup may have begun: run the command again", age.Round(time.Second))
		m.lost = m.place.failed(errors.Join(err, m.failure))
	}
	return m.lost
}

// verify implements confirm. The caller has locked the mark.
func (m *mark) verify(ctx context.Context) error {
	if err := m.checkLost(); err != nil {
		return err
	}
	marks, err := m.place.list(ctx, runningPrefix)
	if err != nil {
		return err
	}
	for _, key := range []string{m.previous, m.key} {
		if _, ok := marks[key]; key != "" && !ok {
			m.lost = m.place.failed(fmt.Errorf("the mark %s was deleted, so another backup may have begun: compare the clocks of the machines, and run the command again", key))
			return m.lost
		}
	}
	return m.checkLost() // the list may have taken long
}

// remove deletes all objects of the mark. If a deletion fails, the mark blocks other backups until it is
// abandoned.
func (m *mark) remove(ctx context.Context) (err error) {
	for _, key := range m.keys {
		err = errors.Join(err, m.place.removeMark(ctx, key))
	}
	return err
}

// removeMark deletes an object of a mark, even if the context has ended.
func (p *Place) removeMark(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	return p.delete(ctx, key)
}

// abandoned reports whether the process of a mark must have died.
func (p *Place) abandoned(key string) bool {
	text, _, _ := strings.Cut(strings.TrimPrefix(key, runningPrefix), "-")
	at, err := time.Parse(markLayout, text)
	return err == nil && p.now().Sub(at) > abandonedAfter
}

// age returns the time since an instant. While the machine sleeps, the monotonic clock may stand still, and
// the wall clock may be set back meanwhile. So the longer of the two times counts.
func (p *Place) age(since time.Time) time.Duration {
	now := p.now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// delete deletes an object while the mark is valid. If the mark expired meanwhile, the deletion may have come
// too late, and the error names the object.
func (m *mark) delete(ctx context.Context, key string) error {
	if err := m.confirm(ctx); err != nil {
		return err
	}
	step, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if err := m.place.delete(step, key); err != nil {
		return m.place.failed(err)
	}
	if err := m.checkAge(); err != nil {
		return fmt.Errorf("%s was deleted late, and another backup may need it: run varve backup verify: %w", key, err)
	}
	return nil
}
