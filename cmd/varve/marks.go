package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/varvedb/varve/api/wire"
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
	Size  int64      `json:"size"`
	Mtime int64      `json:"mtime"`
	Place wire.Place `json:"place"`
}

// pieces are the pieces of a file that are on their way.
type pieces struct {
	places map[int]wire.Place // behind each piece
	done   map[int]bool
	next   int // the first that is not done
}

// saveEvery is how often the checkpoint is written while sending.
const saveEvery = time.Second

func openMarks(path string) (*marks, error) {
	if path == "" {
		return nil, nil
	}
	m := &marks{path: path, files: map[string]mark{}, open: map[string]*pieces{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, plainPath(err)
	}
	if err := json.Unmarshal(data, &m.files); err != nil {
		return nil, fmt.Errorf("%s %w: %w", path, errCheckpoint, err)
	}
	return m, nil
}

func (in *input) key() string {
	if abs, err := filepath.Abs(in.path); err == nil {
		return abs
	}
	return in.path
}

// place returns how far a file was sent by an earlier run, if it is still the
// same file.
func (m *marks) place(in *input) (wire.Place, bool) {
	if m == nil {
		return wire.Place{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.files[in.key()]
	if !ok || k.Size != in.size || k.Mtime != in.mtime {
		return wire.Place{}, false
	}
	return k.Place, true
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
		m.files[in.key()] = mark{Size: in.size, Mtime: in.mtime, Place: p.places[p.next]}
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
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return plainPath(err)
	}
	return os.Rename(tmp, m.path)
}
