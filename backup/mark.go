package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve/objectstore"
)

const (
	// abandonedAfter is the age of a mark after which its process counts as dead.
	abandonedAfter = 24 * time.Hour
	// lostAfter is the age after which a process no longer uses its own mark. The remaining time until
	// abandonedAfter allows for clocks that differ, and for the step that is under way.
	lostAfter = abandonedAfter / 2
	// renewAfter is the age after which a mark is renewed.
	renewAfter = time.Hour
	// unlockTime is how long the deletion of a mark may take.
	unlockTime = time.Minute
	// markLayout is the layout of the times in marks.
	markLayout = "20060102T150405Z"
)

// mark is an object that permits only one process at a time to change a place. Its key has the time of
// its last renewal.
type mark struct {
	place *Place
	key   string
	at    time.Time // time of the last renewal
	left  []string  // keys of earlier marks whose deletion failed
}

// lock makes sure that no other process changes the place. It writes a mark, and fails if another
// mark exists that is not abandoned. If two processes write marks at the same time, at least one of
// them fails.
func (p *Place) lock(ctx context.Context) (*mark, error) {
	m := &mark{place: p}
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	marks, err := p.list(ctx, runningPrefix)
	if err != nil {
		return nil, errors.Join(err, m.unlock(ctx))
	}
	for key := range marks {
		if key == m.key || p.abandoned(key) {
			continue
		}
		err := fmt.Errorf("another backup is under way (%s): wait for its end, or delete that mark if its process has died", key)
		return nil, p.failed(errors.Join(err, m.unlock(ctx)))
	}
	return m, nil
}

// write writes a mark with a random key. After a failure, it deletes the mark, because the mark may exist although
// the answer was lost.
func (m *mark) write(ctx context.Context) error {
	m.at = m.place.now()
	m.key = runningPrefix + m.at.UTC().Format(markLayout) + "-" + rand.Text()
	err := m.place.put(ctx, m.key, []byte("varve backup or varve backup prune is running\n"))
	if err == nil || errors.Is(err, objectstore.ErrExists) { // the client has repeated a request after a lost answer
		return nil
	}
	removed := m.remove(ctx, m.key)
	if removed != nil {
		m.left = append(m.left, m.key)
	}
	return m.place.failed(errors.Join(err, removed))
}

// renew renews the mark if it is old. It must be called before each change of the place. It fails if the
// process was suspended for so long that another one may have changed the place. If the old mark cannot be
// deleted, unlock retries: until then, two marks exist, which is harmless.
func (m *mark) renew(ctx context.Context) error {
	switch age := m.place.now().Sub(m.at); {
	case age > lostAfter:
		return m.place.failed(fmt.Errorf("stood still for %s, so another backup may have begun: run the command again", age.Round(time.Minute)))
	case age < renewAfter:
		return nil
	}
	old, at := m.key, m.at
	if err := m.write(ctx); err != nil {
		m.key, m.at = old, at
		return err
	}
	if m.remove(ctx, old) != nil {
		m.left = append(m.left, old)
	}
	return nil
}

// unlock deletes the mark, and earlier marks whose deletion failed. A mark that stays blocks other backups
// for up to a day.
func (m *mark) unlock(ctx context.Context) (err error) {
	for _, key := range append(m.left, m.key) {
		err = errors.Join(err, m.remove(ctx, key))
	}
	return err
}

// remove deletes a mark, even if the context has ended.
func (m *mark) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
	defer cancel()
	return m.place.delete(ctx, key)
}

// abandoned reports whether the process of a mark must have died.
func (p *Place) abandoned(key string) bool {
	text, _, _ := strings.Cut(strings.TrimPrefix(key, runningPrefix), "-")
	at, err := time.Parse(markLayout, text)
	return err == nil && p.now().Sub(at) > abandonedAfter
}

// delete renews the mark and deletes an object.
func (m *mark) delete(ctx context.Context, key string) error {
	if err := m.renew(ctx); err != nil {
		return err
	}
	if err := m.place.delete(ctx, key); err != nil {
		return m.place.failed(err)
	}
	return nil
}
