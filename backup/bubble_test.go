package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
)

// hooked is a place that calls a function before each operation on an object or a prefix.
type hooked struct {
	objectstore.Store
	before func(operation, key string) error
}

func (h *hooked) PutNew(ctx context.Context, key string, body []byte) error {
	if err := h.before("put", key); err != nil {
		return err
	}
	return h.Store.PutNew(ctx, key, body)
}

func (h *hooked) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := h.before("get", key); err != nil {
		return nil, err
	}
	return h.Store.Get(ctx, key, offset, length)
}

func (h *hooked) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	if err := h.before("list", prefix); err != nil {
		return err
	}
	return h.Store.List(ctx, prefix, each)
}

func (h *hooked) Delete(ctx context.Context, key string) error {
	if err := h.before("delete", key); err != nil {
		return err
	}
	return h.Store.Delete(ctx, key)
}

// bubble is a place with a clock of testing/synctest, and a folder to back up.
type bubble struct {
	*testing.T
	dir     string // folder of the place
	objects objectstore.Store
	source  string
}

// inBubble calls a test with a bubble. While the test waits, the renewals of marks run.
func inBubble(t *testing.T, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, dir: t.TempDir(), source: t.TempDir()}
		var err error
		if b.objects, err = folder.Open(b.dir, folder.Private); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := os.WriteFile(filepath.Join(b.source, fmt.Sprint("file", i)), fmt.Append(nil, "content ", i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		test(b)
	})
}

// place returns the place with a clock that is ahead, and with hooked operations.
func (b *bubble) place(ahead time.Duration, before func(operation, key string) error) *backup.Place {
	if before == nil {
		before = func(string, string) error { return nil }
	}
	return backup.NewPlace(&hooked{b.objects, before}, "", func() time.Time { return time.Now().Add(ahead) })
}

func (b *bubble) make(p *backup.Place) error {
	_, err := p.Make(b.Context(), backup.Snapshot{Dir: b.source, Store: "store", Created: time.Now()})
	return err
}

// expect checks that the place has intact backups, and no marks.
func (b *bubble) expect(backups int) {
	b.Helper()
	p := b.place(0, nil)
	list, err := p.Manifests(b.Context())
	if err != nil || len(list) != backups {
		b.Errorf("%d backups, %v, want %d", len(list), err, backups)
	}
	if problems, err := p.Verify(b.Context(), list); err != nil || len(problems) > 0 {
		b.Errorf("damaged backups: %v, %v", problems, err)
	}
	expectNoMarks(b.T, b.dir)
}

// expectNoMarks checks that a place has no marks.
func expectNoMarks(t *testing.T, dir string) {
	t.Helper()
	if marks, err := filepath.Glob(filepath.Join(dir, "running", "*")); err != nil || len(marks) > 0 {
		t.Errorf("marks remain: %q, %v", marks, err)
	}
}

// expectUnderWay checks that an error refuses a second command.
func expectUnderWay(t *testing.T, when string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "another backup is under way") {
		t.Errorf("%s: %v, want a backup under way", when, err)
	}
}

// first returns a function for Place.Progress that calls another one at its first call only.
func first(do func()) func(done, total int64) {
	var once sync.Once
	return func(int64, int64) { once.Do(do) }
}

// wait lets time pass.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // synctest skips this wait
}
