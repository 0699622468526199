package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// saveEvery is the interval at which the checkpoint is saved during an upload.
const saveEvery = time.Second

var errNotCheckpoint = errors.New("is not a checkpoint of varve ingest")

// checkpoint records how far each file was sent. A nil *checkpoint records nothing.
// Its methods may be called concurrently.
type checkpoint struct {
	path string

	mu      sync.Mutex
	files   map[string]sentFile
	pending map[string]*pendingPieces
	saved   time.Time
}

// sentFile is the progress of one file: all readings before End have verdicts.
type sentFile struct {
	Size     int64             `json:"size"`
	Mtime    int64             `json:"mtime"`
	Settings map[string]string `json:"sent"`
	End      wire.Boundary     `json:"place"`
	// Prefix is the hash of the bytes before End, if lines may be appended to the file.
	Prefix string `json:"prefix,omitempty"`
}

// pendingPieces has the pieces of a file, from the first one without verdicts to the last one whose
// sending has begun.
type pendingPieces struct {
	ends map[int]pieceEnd // the end of each piece, by the piece's number
	done map[int]bool
	next int // number of the first piece that is not done
}

// pieceEnd is the boundary after a piece. The prefix is as in sentFile.
type pieceEnd struct {
	at     wire.Boundary
	prefix string
}

// openCheckpoint loads a checkpoint and saves it, so that a path that cannot be
// written fails before anything is sent. It returns nil for an empty path.
func openCheckpoint(path string) (*checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	c := &checkpoint{path: path, files: map[string]sentFile{}, pending: map[string]*pendingPieces{}}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fileerr.Short(err)
	default:
		if err := json.Unmarshal(data, &c.files); err != nil {
			return nil, fmt.Errorf("%s %w: %w", path, errNotCheckpoint, err)
		}
	}
	return c, c.save()
}

func (c *checkpoint) hasEntries() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.files) > 0
}

func (c *checkpoint) flush() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.save()
}

// key returns the absolute path of the source, which is its name in the checkpoint.
func (s *Source) key() string {
	if abs, err := filepath.Abs(s.Path); err == nil {
		return abs
	}
	return s.Path
}

// resume returns the boundary up to which an earlier run sent the file. If no earlier run sent the file,
// the result "ok" is false. If the file or the settings have changed, "ok" is false, too, and the result
// "changed" describes the difference.
//
// If lines may be appended to a file, appended lines are not a change: see Source.grows. Then the argument "p" is
// the empty prefix of the file.
func (c *checkpoint) resume(s *Source, settings map[string]string, p *prefix) (at wire.Boundary, changed string, ok bool) {
	if c == nil {
		return wire.Boundary{}, "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, ok := c.files[s.key()]
	switch {
	case !ok:
		return wire.Boundary{}, "", false
	case (sent.Size != s.size || sent.Mtime != s.mtime) && !sent.isPrefix(s, p):
		return wire.Boundary{}, "the file has changed", false
	}
	if name, same := compareSettings(sent.Settings, settings); !same {
		return wire.Boundary{}, fmt.Sprintf("%s was %q then, and is %q now", name, sent.Settings[name], settings[name]), false
	}
	return sent.End, "", true
}

// isPrefix reports whether a file begins with the lines that an earlier run sent. A file that cannot be
// read has changed.
func (sent *sentFile) isPrefix(s *Source, p *prefix) bool {
	if sent.Prefix == "" || p == nil || s.size < sent.End.Offset {
		return false
	}
	return p.extend(sent.End.Offset) == sent.Prefix && p.endsLine()
}

// compareSettings compares two sets of settings; a missing setting counts as empty. If they differ, the
// result "name" is the first setting that differs.
func compareSettings(a, b map[string]string) (name string, same bool) {
	names := map[string]string{}
	maps.Copy(names, a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			return name, false
		}
	}
	return "", true
}

// begin records that piece n, which ends at a boundary, is about to be sent. The argument "sent" is the prefix
// of the file up to an earlier boundary, or nil.
func (c *checkpoint) begin(s *Source, n int, at wire.Boundary, sent *prefix) {
	if c == nil {
		return
	}
	end := pieceEnd{at: at, prefix: sent.extend(at.Offset)}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[s.key()]
	if p == nil {
		p = &pendingPieces{ends: map[int]pieceEnd{}, done: map[int]bool{}}
		c.pending[s.key()] = p
	}
	p.ends[n] = end
}

// finish records that all readings of piece n have verdicts. It saves the checkpoint if the last save is at least
// saveEvery ago. If the process is killed, the pieces that were finished after the last save are sent once
// more.
func (c *checkpoint) finish(s *Source, n int, settings map[string]string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[s.key()]
	p.done[n] = true
	for p.done[p.next] {
		end := p.ends[p.next]
		c.files[s.key()] = sentFile{Size: s.size, Mtime: s.mtime, Settings: settings, End: end.at, Prefix: end.prefix}
		delete(p.done, p.next)
		delete(p.ends, p.next)
		p.next++
	}
	if time.Since(c.saved) < saveEvery {
		return nil
	}
	c.saved = time.Now()
	return c.save()
}

// save replaces the checkpoint file atomically. Other runs with the same checkpoint have temporary files of their
// own.
func (c *checkpoint) save() error {
	data, err := json.MarshalIndent(c.files, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(c.path, append(data, '\n')); err != nil {
		return fmt.Errorf("the checkpoint %s cannot be written: %w", c.path, fileerr.Short(err))
	}
	return nil
}

// replaceFile replaces a file atomically. If it fails, the old file remains.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		return nil
	}
	_ = os.Remove(f.Name()) // the first error is the cause
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
