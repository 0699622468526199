package local

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// watcher collects damage that readers find, for the quarantine.
type watcher struct {
	events  Events
	closing context.Context // ends when the store closes
	wake    chan struct{}

	mu    sync.Mutex
	files map[uint64]error  // damaged files of Pebble that are not set aside yet
	keys  map[string]error  // chunks that cannot be decoded
	known map[uint64]string // paths of the files that were reported, by file number
}

func newWatcher(closing context.Context, events Events) *watcher {
	return &watcher{
		events: events, closing: closing, wake: make(chan struct{}, 1),
		files: map[uint64]error{}, keys: map[string]error{}, known: map[uint64]string{},
	}
}

// readDelay is the delay of a read that meets damage in a file that is waiting to be set aside. It
// limits the cost of a compaction that fails repeatedly.
const readDelay = 50 * time.Millisecond

// corrupted handles a damaged file that Pebble reports. By default, Pebble would end the
// process.
func (w *watcher) corrupted(info pebble.DataCorruptionInfo) {
	number, ok := fileNumber(info.Path)
	if !ok {
		w.events.Failed("read "+info.Path, info.Details)
		return
	}
	if w.addFile(number, info.Path, info.Details) {
		return
	}
	timer := time.NewTimer(readDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.closing.Done():
	}
}

// addFile records a damaged file. It returns false if the file is already waiting to be set aside.
func (w *watcher) addFile(number uint64, path string, err error) bool {
	w.mu.Lock()
	_, pending := w.files[number]
	_, reported := w.known[number]
	w.files[number], w.known[number] = err, path
	w.mu.Unlock()
	if !reported {
		w.events.Damaged(path, err)
	}
	w.wakeRepair()
	return !pending
}

// addChunk records a chunk that cannot be decoded, although its file is intact.
func (w *watcher) addChunk(key []byte, err error) {
	w.mu.Lock()
	w.keys[string(key)] = err
	w.mu.Unlock()
	w.wakeRepair()
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.known)
}

func (w *watcher) wakeRepair() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) pending() (files []uint64, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for number := range w.files {
		files = append(files, number)
	}
	for key := range w.keys {
		keys = append(keys, key)
	}
	sort.Slice(files, func(i, j int) bool { return files[i] < files[j] })
	sort.Strings(keys)
	return files, keys
}

func (w *watcher) doneFile(number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.files, number)
}

func (w *watcher) doneChunk(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys, key)
}

func fileNumber(path string) (number uint64, ok bool) {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	stem, ok := strings.CutSuffix(name, ".sst")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(stem, 10, 64)
	return number, err == nil
}

func fileName(number uint64) string { return fmt.Sprintf("%06d.sst", number) }
