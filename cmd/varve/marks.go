package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// marks keeps how far each file has been sent, in a checkpoint file. A nil
// *marks keeps nothing.
type marks struct {
	path string

	mu    sync.Mutex
	files map[string]mark
	open  map[string]*pieces
	saved time.Time
}

// mark is how far one file has been sent: every reading before it has its
// verdict.
type mark struct {
	Size  int64             `json:"size"`
	Mtime int64             `json:"mtime"`
	Sent  map[string]string `json:"sent"` // where to and how; see input.sent
	Place wire.Place        `json:"place"`
}

// pieces are the pieces of a file that are on their way.
type pieces struct {
	places map[int]wire.Place // behind each piece
	done   map[int]bool
	next   int // the first that is not done
}

// saveEvery is how often the checkpoint is written while sending.
const saveEvery = time.Second

// openMarks reads a checkpoint, and writes it back: what cannot be written is
// to be known before anything is sent.
func openMarks(path string) (*marks, error) {
	if path == "" {
		return nil, nil
	}
	m := &marks{path: path, files: map[string]mark{}, open: map[string]*pieces{}}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, plainPath(err)
	default:
		if err := json.Unmarshal(data, &m.files); err != nil {
			return nil, fmt.Errorf("%s %w: %w", path, errCheckpoint, err)
		}
	}
	return m, m.save()
}

// flush writes what was noted since the checkpoint was last written.
func (m *marks) flush() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.save()
}

func (in *input) key() string {
	if abs, err := filepath.Abs(in.path); err == nil {
		return abs
	}
	return in.path
}

// place returns how far a file was sent by an earlier run, if it is still the
// same file and goes to the same place in the same way. If it was sent and does
// not, changed says why it is to be sent again.
func (m *marks) place(in *input) (at wire.Place, changed string, ok bool) {
	if m == nil {
		return wire.Place{}, "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.files[in.key()]
	switch {
	case !ok:
		return wire.Place{}, "", false
	case k.Size != in.size || k.Mtime != in.mtime:
		return wire.Place{}, "the file has changed", false
	}
	if name, same := sameTexts(k.Sent, in.sent); !same {
		return wire.Place{}, fmt.Sprintf("%s was %q then, and is %q now", name, k.Sent[name], in.sent[name]), false
	}
	return k.Place, "", true
}

// sameTexts compares two maps in which what is missing is empty. If they
// differ, name is the first that does.
func sameTexts(a, b map[string]string) (name string, same bool) {
	names := maps.Clone(a)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			return name, false
		}
	}
	return "", true
}

// begin notes a piece that is about to be sent.
func (m *marks) begin(in *input, n int, behind wire.Place) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.open[in.key()]
	if p == nil {
		p = &pieces{places: map[int]wire.Place{}, done: map[int]bool{}}
		m.open[in.key()] = p
	}
	p.places[n] = behind
}

// end notes that each reading of a piece has its verdict.
func (m *marks) end(in *input, n int) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.open[in.key()]
	p.done[n] = true
	for p.done[p.next] {
		m.files[in.key()] = mark{Size: in.size, Mtime: in.mtime, Sent: in.sent, Place: p.places[p.next]}
		delete(p.done, p.next)
		delete(p.places, p.next)
		p.next++
	}
	if len(p.places) > 0 && time.Since(m.saved) < saveEvery {
		return nil
	}
	m.saved = time.Now()
	return m.save()
}

// save puts the checkpoint in place at once.
func (m *marks) save() error {
	data, err := json.MarshalIndent(m.files, "", "  ")
	if err != nil {
		return err
	}
	tmp := m.path + ".new"
	err = writeSynced(tmp, append(data, '\n'))
	if err == nil {
		err = os.Rename(tmp, m.path)
	}
	if err == nil {
		return nil
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	_ = os.Remove(tmp) // it may not be there
	return fmt.Errorf("the checkpoint %s cannot be written: %w", m.path, plainPath(err))
}

// writeSynced writes a file that is whole after a crash, if its name is there.
func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
