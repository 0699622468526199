package backup_test

import (
	"context"
	"strings"
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
}

func (l lossy) PutNew(ctx context.Context, key string, body []byte) error {
	if err := l.Store.PutNew(ctx, key, body); err != nil || !strings.Contains(key, l.part) {
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
		made, err := w.make(w.placeOf(lossy{w.folder(w.dir), part, objectstore.ErrExists}))
		if err != nil {
			t.Errorf("%s: %v", part, err)
			continue
		}
		if n := w.restored(made.Manifest); n != 10 {
			t.Errorf("%s: %d readings, want 10", part, n)
		}
	}
}

// TestMark_IsDeletedAfterLostAnswer loses the answer of the first mark, or of its renewal, for good. The next
// backup must not wait for that mark.
func TestMark_IsDeletedAfterLostAnswer(t *testing.T) {
	for _, renewal := range []bool{false, true} {
		w := newWorld(t)
		w.write(10)
		objects := &lossy{Store: w.folder(w.dir), part: "/running/", answer: errInjected}
		if renewal {
			objects.answer = nil
		}
		p := w.placeOf(objects)
		p.Progress = func(int64, int64) {
			objects.answer = errInjected
			w.clock = w.clock.Add(2 * time.Hour)
		}
		if _, err := w.make(p); err == nil || !strings.Contains(err.Error(), "injected") {
			t.Errorf("renewal %t: %v, want the lost answer", renewal, err)
		}
		if _, err := w.make(w.place); err != nil {
			t.Errorf("renewal %t: the next backup: %v", renewal, err)
		}
	}
}

// undeleting is a place in which the next deletions of marks fail.
type undeleting struct {
	objectstore.Store
	failures int
}

func (u *undeleting) Delete(ctx context.Context, key string) error {
	if strings.Contains(key, "/running/") && u.failures > 0 {
		u.failures--
		return errInjected
	}
	return u.Store.Delete(ctx, key)
}

// TestMark_IsDeletedAfterFailedRenewal lets the deletion of the old mark fail when a long backup renews its
// mark. The backup must succeed, and leave no mark that blocks the next one for a day.
func TestMark_IsDeletedAfterFailedRenewal(t *testing.T) {
	w := newWorld(t)
	w.write(10)
	p := w.placeOf(&undeleting{w.folder(w.dir), 1})
	p.Progress = func(int64, int64) {
		p.Progress = nil
		w.clock = w.clock.Add(2 * time.Hour)
	}
	if _, err := w.make(p); err != nil {
		t.Errorf("the backup: %v", err)
	}
	if _, err := w.make(w.place); err != nil {
		t.Errorf("the next backup: %v", err)
	}
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
