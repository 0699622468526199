package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/varvedb/varve/store/local/meta"
)

var testID = meta.ID{1, 2, 3}

func open(t *testing.T, fs vfs.FS, number uint64) *Writer {
	t.Helper()
	if err := fs.MkdirAll("j", 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(fs, "j", testID, number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// frames replays the segments after the given one, and returns the payloads.
func frames(fs vfs.FS, after uint64) (payloads []string, rep Report, err error) {
	return framesOf(Source{FS: fs, Dir: "j", Store: testID, After: after})
}

// salvage replays the whole journal and skips damage.
func salvage(fs vfs.FS) (payloads []string, rep Report, err error) {
	return framesOf(Source{FS: fs, Dir: "j", Store: testID, Salvage: true})
}

func framesOf(src Source) (payloads []string, rep Report, err error) {
	rep, err = src.Replay(func(f Frame) error {
		payloads = append(payloads, string(f.Payload))
		return nil
	})
	return payloads, rep, err
}

func rotate(t *testing.T, w *Writer) uint64 {
	t.Helper()
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	return w.Rotate()
}

func TestReplay_ReturnsFramesInOrder(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("frame ", i))
		c := w.Append(Readings, []byte(want[i]))
		if i%10 == 0 {
			if err := c.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if i == 50 {
			if n := rotate(t, w); n != 1 {
				t.Fatal(n)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, rep, err := frames(fs, 0)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || rep.Last != 2 || len(rep.Torn) != 0 {
		t.Fatalf("got %v %+v %v", got, rep, err)
	}
	if got, _, _ = frames(fs, 1); len(got) != 49 {
		t.Fatalf("after segment 1: %d frames, want 49", len(got))
	}
	if !errors.Is(w.Append(Readings, nil).Wait(t.Context()), ErrClosed) || !errors.Is(w.Ready(), ErrClosed) {
		t.Fatal("append after close")
	}
}

func TestWriter_RemovesSegments(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	w.Append(Readings, []byte("old"))
	old := rotate(t, w)
	c := w.Append(Readings, []byte("new"))
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(old); err != nil {
		t.Fatal(err)
	}
	if got, _, err := frames(fs, old); err != nil || fmt.Sprint(got) != "[new]" {
		t.Fatal(got, err)
	}
}

// TestWriter_SurvivesPowerCut cuts the power at a random moment. The journal must then have its frames in
// order without a gap, and at least the frames whose commit had ended.
func TestWriter_SurvivesPowerCut(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		fs := vfs.NewCrashableMem()
		w := open(t, fs, 1)
		if err := meta.SyncFolder(fs, ""); err != nil { // makes the root folder durable
			t.Fatal(err)
		}
		durable, appended := 0, rng.IntN(60)
		for i := range appended {
			payload := bytes.Repeat([]byte{byte(i)}, 1+rng.IntN(200))
			if c := w.Append(Readings, payload); rng.IntN(4) == 0 {
				if err := c.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				durable = i + 1
			}
			if rng.IntN(20) == 0 {
				rotate(t, w)
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		got, _, err := frames(crashed, 0)
		if err != nil || len(got) < durable || len(got) > appended {
			t.Fatalf("seed %d: %d frames, %d durable of %d, %v", seed, len(got), durable, appended, err)
		}
		for i, p := range got {
			if p[0] != byte(i) {
				t.Fatalf("seed %d: frame %d is %d", seed, i, p[0])
			}
		}
		w.Close()
	}
}

// TestWriter_RetriesFailedWrites makes writes fail for a while. A waiting caller and Ready must get the
// error. Afterward, all frames must become durable in order.
func TestWriter_RetriesFailedWrites(t *testing.T) {
	var failing atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && (op.Kind == errorfs.OpFileWriteAt || op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSyncData) {
			return errors.New("disk is full")
		}
		return nil
	}))
	w := open(t, fs, 1)
	if err := w.Append(Readings, []byte("a")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := w.Append(Readings, []byte("b")).Wait(t.Context()); err == nil {
		t.Fatal("a failed write was acknowledged")
	}
	if w.Ready() == nil {
		t.Fatal("ready while writes fail")
	}
	pending := w.Pending()
	if pending == nil {
		t.Fatal("nothing pending, and b is not durable")
	}
	failing.Store(false)
	if err := pending.Wait(t.Context()); err != nil { // pending may still be the failed attempt
		if p := w.Pending(); p != nil {
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Append(Readings, []byte("c")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, _, err := frames(mem, 0); err != nil || fmt.Sprint(got) != "[a b c]" {
		t.Fatal(got, err)
	}
}

// TestWriter_FailsQueuedFrames appends a frame and the end of the segment while the write of an earlier frame
// waits, and then fails. All callers must get the error, and a later attempt must make the frames durable.
func TestWriter_FailsQueuedFrames(t *testing.T) {
	var failing atomic.Bool
	writing, fail := make(chan bool, 1), make(chan bool)
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind == errorfs.OpFileSyncData {
			select {
			case writing <- true:
				<-fail
			default: // a later attempt
			}
			return errors.New("disk is broken")
		}
		return nil
	}))
	w := open(t, fs, 1)
	failing.Store(true)
	commits := []*Commit{w.Append(Readings, []byte("a"))}
	<-writing
	commits = append(commits, w.Append(Readings, []byte("b")))
	rotate(t, w)
	commits = append(commits, w.Append(Readings, []byte("c")), w.Pending())
	close(fail)
	ctx, cancel := contextWithTimeout(t, 20*time.Second)
	defer cancel()
	for i, c := range commits {
		if err := c.Wait(ctx); err == nil || ctx.Err() != nil || c.Durable() {
			t.Fatalf("commit %d: %v, want the error of the disk", i, err)
		}
	}
	if err := w.Sync(ctx); err == nil || ctx.Err() != nil {
		t.Fatalf("Sync: %v, want the error of the disk", err)
	}
	failing.Store(false)
	for i, c := range commits {
		for err := errors.New("failed"); err != nil && ctx.Err() == nil; {
			c = c.Retry()
			err = c.Wait(ctx)
		}
		if !c.Durable() {
			t.Fatalf("commit %d is not durable after the disk was repaired", i)
		}
	}
	w.Close()
	if got, _, err := frames(mem, 0); err != nil || fmt.Sprint(got) != "[a b c]" {
		t.Fatal(got, err)
	}
}

func TestWriter_KeepsConcurrentAppends(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				if err := w.Append(Readings, fmt.Appendf(nil, "%d %d", i, j)).Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if w.Pending() != nil {
		t.Fatal("pending after all were waited for")
	}
	w.Close()
	got, _, err := frames(fs, 0)
	if err != nil || len(got) != 800 {
		t.Fatal(len(got), err)
	}
	next := map[string]int{}
	for _, p := range got {
		var who string
		var j int
		fmt.Sscan(p, &who, &j)
		if next[who] != j {
			t.Fatalf("writer %s: frame %d out of order", who, j)
		}
		next[who]++
	}
}

func TestWait_EndsWithContext(t *testing.T) {
	block := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			<-block
		}
		return nil
	}))
	w := open(t, fs, 1)
	ctx, cancel := contextWithTimeout(t, 10*time.Millisecond)
	defer cancel()
	if err := w.Append(Readings, []byte("a")).Wait(ctx); err == nil {
		t.Fatal("acknowledged before the sync")
	}
	close(block)
}

func FuzzReplay(f *testing.F) {
	whole := Frame{Kind: Readings, Payload: []byte("x"), synced: headerBytes}
	f.Add(whole.appendTo(header{number: 1, id: testID}.bytes(), encodingOf(testID, 1)))
	f.Add([]byte(magic))
	f.Add(append([]byte(magic1), 1, 0, 0, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("j", 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, fs, 1, data)
		for _, src := range []Source{{Store: testID}, {Unchained: true}, {Salvage: true}} {
			src.FS, src.Dir = fs, "j"
			if _, err := src.Replay(func(Frame) error { return nil }); err != nil && !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "unknown kind") {
				t.Fatal(err)
			}
		}
	})
}

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
