package backup_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/objectstore"
)

// lossy is a place that loses the answers of some writes. If the key contains the field "part", the object is
// written, and the caller gets the field "answer" as the error.
type lossy struct {
	objectstore.Store
	part   string
	answer error
	losing *atomic.Bool // if set and false, no answer is lost
}

func (l lossy) PutNew(ctx context.Context, key string, body []byte) error {
	if err := l.Store.PutNew(ctx, key, body); err != nil || !strings.Contains(key, l.part) || l.losing != nil && !l.losing.Load() {
		return err
	}
	return l.answer
}

// TestMake_SucceedsAfterRepeatedRequest makes backups while the client repeats requests after lost answers.
// The place then answers that the object exists. Each backup must succeed.
func TestMake_SucceedsAfterRepeatedRequest(t *testing.T) {
	for _, part := range []string{"/running/", "/backups/", "/files/"} {
		w := newWorld(t)
		w.write(10)
		made, err := w.make(w.placeOf(lossy{Store: w.folder(w.dir), part: part, answer: objectstore.ErrExists}))
		if err != nil {
			t.Errorf("%s: %v", part, err)
			continue
		}
		if n := w.restored(made.Manifest); n != 10 {
			t.Errorf("%s: %d readings, want 10", part, n)
		}
	}
}

// TestMark_IsDeletedAfterLostAnswer loses the answer of the first mark, or of its renewals. The first backup must
// fail, and the other one must retry the renewal. No mark must remain.
func TestMark_IsDeletedAfterLostAnswer(t *testing.T) {
	for _, renewal := range []bool{false, true} {
		inBubble(t, func(b *bubble) {
			var losing atomic.Bool
			losing.Store(!renewal)
			objects := &lossy{Store: b.objects, part: "running/", answer: errInjected, losing: &losing}
			p := backup.NewPlace(objects, "", time.Now)
			p.Progress = first(func() {
				losing.Store(true)
				wait(2 * time.Minute)
				losing.Store(false)
				wait(2 * time.Minute)
			})
			if err := b.make(p); (err == nil) != renewal {
				b.Errorf("renewal %t: %v", renewal, err)
			}
			if renewal {
				b.expect(1)
			} else {
				b.expect(0)
			}
		})
	}
}

// undeleting is a place in which the next deletions of marks fail.
type undeleting struct {
	objectstore.Store
	failures int
}

func (u *undeleting) Delete(ctx context.Context, key string) error {
	if strings.HasPrefix(key, "running/") && u.failures > 0 {
		u.failures--
		return errInjected
	}
	return u.Store.Delete(ctx, key)
}

// TestMark_IsDeletedAfterFailedRenewal lets the deletion of an old mark fail when a long backup renews its
// mark. The backup must succeed, and leave no mark.
func TestMark_IsDeletedAfterFailedRenewal(t *testing.T) {
	inBubble(t, func(b *bubble) {
		objects := &undeleting{b.objects, 1}
		p := backup.NewPlace(objects, "", time.Now)
		p.Progress = first(func() { wait(2 * time.Minute) })
		if err := b.make(p); err != nil || objects.failures > 0 {
			b.Errorf("the backup: %v, %d deletions were still to fail", err, objects.failures)
		}
		b.expect(1)
	})
}

// TestPrune_KeepsBackupsAfterWrongClock makes a backup while the clock is a year ahead. Until its manifest is
// deleted, later backups and Prune must fail, because they would count it as the newest one.
func TestPrune_KeepsBackupsAfterWrongClock(t *testing.T) {
	w := newWorld(t)
	w.write(10)
	var made []*backup.Report
	for _, ahead := range []time.Duration{0, 365 * 24 * time.Hour} {
		w.clock = w.clock.Add(ahead)
		one, err := w.make(w.place)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, one)
	}
	w.clock = w.clock.Add(-365 * 24 * time.Hour)
	wrong := made[1].Manifest.Name()
	if _, err := w.make(w.place); err == nil || !strings.Contains(err.Error(), wrong+" is not older") {
		t.Errorf("a later backup: %v", err)
	}
	if _, err := w.place.Prune(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), wrong+" is in the future") {
		t.Errorf("prune: %v", err)
	}
	if err := w.folder(w.dir).Delete(t.Context(), "some/store/backups/"+wrong+".json"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.make(w.place); err != nil {
		t.Errorf("after the deletion: %v", err)
	}
	if done, err := w.place.Prune(t.Context(), 1, false); err != nil || len(done.Backups) != 1 || done.Backups[0] != made[0].Manifest.Name() {
		t.Errorf("pruned %+v, %v; want the first backup", done, err)
	}
}
