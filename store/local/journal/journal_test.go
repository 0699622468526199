package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func open(t *testing.T, fs vfs.FS, number uint64) *Writer {
	t.Helper()
	if err := fs.MkdirAll("j", 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(fs, "j", number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func replay(fs vfs.FS, after uint64) (frames []string, rep Replayed, err error) {
	rep, err = Replay(fs, "j", after, func(p []byte) error {
		frames = append(frames, string(p))
		return nil
	})
	return frames, rep, err
}

func rotate(t *testing.T, w *Writer) uint64 {
	t.Helper()
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	return w.Rotate()
}

func TestReplayInOrder(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("frame ", i))
		c := w.Append([]byte(want[i]))
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
	got, rep, err := replay(fs, 0)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || rep.Last != 2 || rep.Torn != 0 {
		t.Fatalf("got %v %+v %v", got, rep, err)
	}
	if got, _, _ = replay(fs, 1); len(got) != 49 {
		t.Fatalf("after segment 1: %d frames, want 49", len(got))
	}
	if !errors.Is(w.Append(nil).Wait(t.Context()), ErrClosed) || !errors.Is(w.Ready(), ErrClosed) {
		t.Fatal("append after close")
	}
}

func TestRemove(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	w.Append([]byte("old"))
	old := rotate(t, w)
	c := w.Append([]byte("new"))
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(old); err != nil {
		t.Fatal(err)
	}
	if got, _, err := replay(fs, old); err != nil || fmt.Sprint(got) != "[new]" {
		t.Fatal(got, err)
	}
}

// TestMissing: a segment that is not there, and should be, is damage.
func TestMissing(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	for _, frame := range []string{"a", "b", "c"} {
		if err := w.Append([]byte(frame)).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		rotate(t, w)
	}
	if err := fs.Remove("j/" + fileName(2)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := replay(fs, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("segment 2 is missing: %v", err)
	}
	if got, _, err := replay(fs, 2); err != nil || fmt.Sprint(got) != "[c]" {
		t.Errorf("after segment 2: %v, %v", got, err)
	}
}

// TestCrash cuts the power at a random moment: what was waited for is there,
// in order and without gaps.
func TestCrash(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		fs := vfs.NewCrashableMem()
		w := open(t, fs, 1)
		if err := syncDir(fs, ""); err != nil { // the directory itself
			t.Fatal(err)
		}
		durable, appended := 0, rng.IntN(60)
		for i := range appended {
			payload := bytes.Repeat([]byte{byte(i)}, 1+rng.IntN(200))
			if c := w.Append(payload); rng.IntN(4) == 0 {
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
		got, _, err := replay(crashed, 0)
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

// file returns a segment's bytes, without the zeros at its end; put replaces
// them.
func file(t *testing.T, fs vfs.FS, number uint64) []byte {
	data, err := readAll(fs, fs.PathJoin("j", fileName(number)))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(data, "\x00")
}

func put(t *testing.T, fs vfs.FS, number uint64, data []byte) {
	f, err := fs.Create(fs.PathJoin("j", fileName(number)), category)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestDamage(t *testing.T) {
	write := func() (vfs.FS, []byte) {
		fs := vfs.NewMem()
		w := open(t, fs, 1)
		for i := range 3 {
			if err := w.Append([]byte{byte('a' + i), 'x', 'y', 'z'}).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		return fs, file(t, fs, 1)
	}
	const frame = frameBytes + 4
	cases := []struct {
		reason string
		harm   func(data []byte) []byte
		frames int
		err    error
	}{
		{"whole", func(d []byte) []byte { return d }, 3, nil},
		{"cut in the last frame", func(d []byte) []byte { return d[:len(d)-1] }, 2, nil},
		{"zeros behind", func(d []byte) []byte { return append(d, make([]byte, 5000)...) }, 3, nil},
		{"last frame flipped: may be a torn write", func(d []byte) []byte { d[len(d)-1] ^= 1; return d }, 2, nil},
		{"first frame flipped: was durable", func(d []byte) []byte { d[headerBytes+frameBytes] ^= 1; return d }, 0, ErrDamaged},
		{"second frame's length flipped", func(d []byte) []byte { d[headerBytes+frame] ^= 0x80; return d }, 1, ErrDamaged},
		{"header flipped", func(d []byte) []byte { d[0] ^= 1; return d }, 0, ErrDamaged},
		{"file just made", func(d []byte) []byte { return d[:5] }, 0, nil},
		{"empty", func(d []byte) []byte { return nil }, 0, nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			fs, data := write()
			put(t, fs, 1, c.harm(data))
			got, _, err := replay(fs, 0)
			if len(got) != c.frames || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Fatalf("%d frames, %v; want %d, %v", len(got), err, c.frames, c.err)
			}
		})
	}
}

func TestDamageBeforeLaterSegment(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	w.Append([]byte("one"))
	rotate(t, w)
	w.Append([]byte("two"))
	w.Close()
	data := file(t, fs, 1)
	put(t, fs, 1, data[:len(data)-1])
	if _, _, err := replay(fs, 0); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a segment cut short before a written one: %v", err)
	}
}

// TestFailedWrites makes writing fail for a while: those who wait are told,
// Ready says so, and afterwards everything is durable in order.
func TestFailedWrites(t *testing.T) {
	var failing atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && (op.Kind == errorfs.OpFileWriteAt || op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSyncData) {
			return errors.New("disk is full")
		}
		return nil
	}))
	w := open(t, fs, 1)
	if err := w.Append([]byte("a")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := w.Append([]byte("b")).Wait(t.Context()); err == nil {
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
	if err := pending.Wait(t.Context()); err != nil { // may still be the failed try
		if p := w.Pending(); p != nil {
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Append([]byte("c")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, _, err := replay(mem, 0); err != nil || fmt.Sprint(got) != "[a b c]" {
		t.Fatal(got, err)
	}
}

func TestConcurrentAppends(t *testing.T) {
	fs := vfs.NewMem()
	w := open(t, fs, 1)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				if err := w.Append(fmt.Appendf(nil, "%d %d", i, j)).Wait(t.Context()); err != nil {
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
	got, _, err := replay(fs, 0)
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

func TestWaitEndsWithContext(t *testing.T) {
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
	if err := w.Append([]byte("a")).Wait(ctx); err == nil {
		t.Fatal("acknowledged before the sync")
	}
	close(block)
}

func FuzzReplay(f *testing.F) {
	f.Add(appendFrame(appendHeader(nil, 1), 1, headerBytes, []byte("x")))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("j", 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, fs, 1, data)
		if _, _, err := replay(fs, 0); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
