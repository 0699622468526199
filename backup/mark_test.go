package backup_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/objectstore"
)

// validity is how long the mark of a killed process blocks others.
const validity = 15 * time.Minute

// TestMark_OfKilledBackupExpires kills a backup after its first file. Later commands must fail until the mark
// has expired, and no longer. Then they must work and delete the mark.
func TestMark_OfKilledBackupExpires(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	killed := w.placeOf(&unreliable{Store: w.folder(w.dir), left: 8, dies: true})
	if _, err := w.make(killed); err == nil {
		t.Fatal("the killed backup succeeded")
	}
	begin := w.clock
	for _, age := range []time.Duration{time.Minute, validity - time.Minute} {
		w.clock = begin.Add(age)
		_, err := w.place.Prune(t.Context(), 1, false)
		expectUnderWay(t, "prune after "+age.String(), err)
	}
	w.clock = begin.Add(validity)
	if _, err := w.make(w.place); err != nil {
		t.Errorf("a backup after the validity: %v", err)
	}
	expectNoMarks(t, filepath.Join(w.dir, "some/store"))
}

// TestMark_OfSlowFile uploads and reads each file slower than the validity of a mark. The mark must be
// renewed meanwhile, so that Prune is refused. Two marks exist at most, apart from the one of Prune.
func TestMark_OfSlowFile(t *testing.T) {
	inBubble(t, func(b *bubble) {
		slow := 0
		p := b.place(0, func(operation, key string) error {
			if operation == "list" || !strings.HasPrefix(key, "files/") {
				return nil
			}
			for range 2 {
				slow++
				wait(validity + time.Second) // not at the instant of a renewal
				_, err := b.place(0, nil).Prune(b.Context(), 1, false)
				expectUnderWay(b.T, operation+" "+key, err)
			}
			if marks, err := filepath.Glob(filepath.Join(b.dir, "running", "*")); err != nil || len(marks) > 2 {
				b.Errorf("the marks %q exist, %v, want two", marks, err)
			}
			return nil
		})
		if err := b.make(p); err != nil || slow != 12 {
			b.Errorf("after %d slow steps: %v, want 12", slow, err)
		}
		b.expect(1)
	})
}

// TestMark_OfSuspendedBackup suspends a backup for a little longer than it may use its mark. It must write no
// manifest.
func TestMark_OfSuspendedBackup(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	w.place.Progress = first(func() { w.clock = w.clock.Add(4 * time.Minute) })
	if _, err := w.make(w.place); err == nil || !strings.Contains(err.Error(), "could not renew its mark for 4m0s") {
		t.Errorf("the suspended backup: %v", err)
	}
	if list, err := w.place.Manifests(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%d backups: %v", len(list), err)
	}
	if _, err := w.make(w.place); err != nil {
		t.Errorf("the next backup: %v", err)
	}
}

// TestMark_OfSuspendedPrune suspends Prune before its first deletion of a file, or inside it. It must report a
// deletion that came late, and delete nothing more.
func TestMark_OfSuspendedPrune(t *testing.T) {
	for operation, want := range map[string]string{"list": "could not renew its mark", "delete": "was deleted late"} {
		w := newWorld(t)
		w.write(10)
		if _, err := w.make(w.placeOf(&unreliable{Store: w.folder(w.dir), left: 12})); err == nil {
			t.Fatal("the interrupted backup succeeded")
		}
		deleted := 0
		p := w.placeOf(&hooked{w.folder(w.dir), func(op, key string) error {
			if !strings.Contains(key, "/files/") {
				return nil
			}
			if op == "delete" {
				deleted++
			}
			if op == operation {
				w.clock = w.clock.Add(4 * time.Minute)
			}
			return nil
		}})
		_, err := p.Prune(t.Context(), 1, false)
		if err == nil || !strings.Contains(err.Error(), want) || deleted > 0 != (operation == "delete") || deleted > 1 {
			t.Errorf("suspended in %s: deleted %d files: %v, want %q", operation, deleted, err, want)
		}
		if files, _ := filepath.Glob(filepath.Join(w.dir, "some/store/files", "*")); len(files) == 0 {
			t.Error("no file is left: the test is ineffective")
		}
	}
}

// TestMark_OfSlowList lets the list of marks take as long as a mark exists after its renewal. The backup must
// fail, because the list may lack the marks of another process.
func TestMark_OfSlowList(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var once sync.Once
		p := b.place(0, func(operation, _ string) error {
			if operation == "list" {
				once.Do(func() { wait(30 * time.Second) })
			}
			return nil
		})
		if err := b.make(p); err == nil || !strings.Contains(err.Error(), "took 30s to list running/") {
			b.Errorf("after a slow list: %v", err)
		}
		b.expect(0)
	})
}

// lateRenewals is a place in which the first three renewals of a mark fail. The answer of the next one takes two
// minutes, even if the context ends.
type lateRenewals struct {
	objectstore.Store
	puts int
}

func (l *lateRenewals) PutNew(ctx context.Context, key string, body []byte) error {
	if !strings.HasPrefix(key, "running/") {
		return l.Store.PutNew(ctx, key, body)
	}
	switch l.puts++; l.puts {
	case 2, 3, 4:
		return errInjected
	case 5:
		defer wait(2 * time.Minute)
	}
	return l.Store.PutNew(ctx, key, body)
}

// TestMark_OfLateRenewal lets renewals fail for two minutes. The next one takes two more minutes, so the mark is
// lost before its renewal succeeds. The backup must fail.
func TestMark_OfLateRenewal(t *testing.T) {
	inBubble(t, func(b *bubble) {
		p := backup.NewPlace(&lateRenewals{Store: b.objects}, "", time.Now)
		p.Progress = first(func() { wait(4*time.Minute + time.Second) })
		if err := b.make(p); err == nil || !strings.Contains(err.Error(), "could not renew its mark for 4m") {
			b.Errorf("after a late renewal: %v", err)
		}
		b.expect(0)
	})
}

// TestMake_RechecksLateManifest suspends a backup while it writes its manifest. If Prune ran meanwhile, the
// manifest must be deleted. Otherwise, the backup must succeed.
func TestMake_RechecksLateManifest(t *testing.T) {
	for _, pruned := range []bool{false, true} {
		inBubble(t, func(b *bubble) {
			ahead := time.Duration(0)
			now := func() time.Time { return time.Now().Add(ahead) }
			p := backup.NewPlace(&hooked{b.objects, func(operation, key string) error {
				if operation != "put" || !strings.HasPrefix(key, "backups/") {
					return nil
				}
				ahead = validity + time.Second
				if pruned {
					if done, err := backup.NewPlace(b.objects, "", now).Prune(b.Context(), 1, false); err != nil || done.Files != 3 {
						b.Errorf("prune: %+v, %v, want 3 deleted files", done, err)
					}
				}
				return nil
			}}, "", now)
			err := b.make(p)
			if !pruned {
				if err != nil {
					b.Errorf("the late backup: %v", err)
				}
				b.expect(1)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "may lack files") {
				b.Errorf("the late backup without files: %v", err)
			}
			b.expect(0)
		})
	}
}

// TestMark_ToleratesClocks lets renewals fail until a backup fails, while the clock of Prune differs. Prune must
// be refused as long as the backup works, unless the clocks differ by more than ten minutes. Then the backup
// must notice that Prune deleted its mark.
func TestMark_ToleratesClocks(t *testing.T) {
	for ahead, refused := range map[time.Duration]bool{10 * time.Minute: true, -10 * time.Minute: true, time.Hour: false} {
		inBubble(t, func(b *bubble) {
			var working atomic.Bool
			p := b.place(0, func(operation, key string) error {
				if working.Load() && strings.HasPrefix(key, "running/") && operation == "put" {
					return errInjected
				}
				return nil
			})
			p.Progress = first(func() {
				working.Store(true)
				wait(3 * time.Minute) // the longest time for which a process uses its mark
				_, err := b.place(ahead, nil).Prune(b.Context(), 1, false)
				if refused {
					expectUnderWay(b.T, "prune with a clock ahead by "+ahead.String(), err)
				} else if err != nil {
					b.Error(err)
				}
				working.Store(false)
				if !refused {
					wait(time.Second)
				}
			})
			err := b.make(p)
			if (err == nil) != refused {
				b.Errorf("the backup beside a clock ahead by %s: %v", ahead, err)
			}
			if refused {
				b.expect(1)
			} else {
				b.expect(0)
			}
		})
	}
}

// TestMark_DeletedByOtherClock lets Prune with a wrong clock delete the marks of a backup, at once or 40 seconds
// after it listed them. The backup must fail although it renews its mark meanwhile.
func TestMark_DeletedByOtherClock(t *testing.T) {
	for _, c := range []struct{ before, after time.Duration }{{0, 0}, {0, 10 * time.Minute}, {40 * time.Second, 0}} {
		inBubble(t, func(b *bubble) {
			var once sync.Once
			other := b.place(time.Hour, func(operation, key string) error {
				if operation == "delete" {
					once.Do(func() { wait(c.before) })
				}
				return nil
			})
			p := b.place(0, nil)
			p.Progress = first(func() {
				wait(10*time.Minute + time.Second) // not at the instant of a renewal
				if _, err := other.Prune(b.Context(), 1, false); err != nil {
					b.Error(err)
				}
				wait(c.after)
			})
			if err := b.make(p); err == nil || !strings.Contains(err.Error(), "was deleted") {
				b.Errorf("%+v: %v, want the deleted mark", c, err)
			}
			b.expect(0)
		})
	}
}

// TestMark_RetriesFailedRenewals lets the renewals of a mark fail. After a short outage, the backup must succeed.
// After a long one, it must fail and name the reason.
func TestMark_RetriesFailedRenewals(t *testing.T) {
	for outage, want := range map[time.Duration]string{2 * time.Minute: "", 4 * time.Minute: "injected"} {
		inBubble(t, func(b *bubble) {
			var fails atomic.Bool
			p := b.place(0, func(operation, key string) error {
				if fails.Load() && strings.HasPrefix(key, "running/") {
					return errInjected
				}
				return nil
			})
			p.Progress = first(func() {
				fails.Store(true)
				wait(outage)
				fails.Store(false)
				wait(validity)
			})
			err := b.make(p)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				b.Errorf("after an outage of %s: %v, want %q", outage, err, want)
			}
			if want == "" {
				b.expect(1)
			} else {
				b.expect(0)
			}
		})
	}
}
