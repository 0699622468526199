package local

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// openPebble opens the database for writing. Its files are written only while the
// disk has room.
func (s *Store) openPebble() (err error) {
	opts := s.pebble.Clone()
	opts.FS = s.space.hold(s.background, shortFS{s.opts.FS})
	opts.ErrorIfNotExists = s.folder.state != folderNew && !s.emptied
	opts.Cache = pebble.NewCache(s.opts.CacheBytes)
	defer opts.Cache.Unref()
	s.db, err = pebble.Open(s.folder.path("pebble"), opts)
	return err
}

// defaultBlockBytes is the size of Pebble's blocks: one damaged bit loses a block.
const defaultBlockBytes = 32 << 10

// blocksOfFile is how many blocks a file of level 0 has at most, about.
const blocksOfFile = 64

// pebbleOptions returns the options of the database, without its cache. It has no
// log of its own: changes that are not in its files yet are in the journal.
func pebbleOptions(o Options, w *watcher) *pebble.Options {
	opts := &pebble.Options{
		FS:                          o.FS,
		DisableWAL:                  true,
		Logger:                      logger{o.Events},
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                8 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       100,
		MaxOpenFiles:                1000,
	}
	// Chunks are packed already; what is left pays for the best compression
	// where data stays, and none of it on the way there.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = o.blockBytes
	}
	opts.TargetFileSizes[0] = int64(o.blockBytes) * blocksOfFile
	// A file that is missing or has another size is set aside like one that is
	// damaged, instead of keeping the store from opening.
	opts.DisableConsistencyCheck = true
	// What replaces a damaged range must be in place when that is reported done.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	opts.EventListener = &pebble.EventListener{
		DataCorruption: w.corrupted, // by default, it ends the process
		BackgroundError: func(err error) {
			if !pebble.IsCorruptionError(err) { // that is reported already
				o.Events.Failed("pebble", err)
			}
		},
	}
	opts.EnsureDefaults()
	return opts
}

// logger passes on what Pebble cannot survive and drops its reports of
// ordinary work.
type logger struct{ events Events }

func (logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	l.events.Failed("pebble", fmt.Errorf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	// The first line says what is wrong; stack traces follow.
	msg, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	l.events.Fatal(msg)
	panic(msg)
}
