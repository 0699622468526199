package local

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// openPebble opens the database for writing. Writes of its files wait while the disk is full.
func (o *opener) openPebble() (err error) {
	opts := o.db.options.Clone()
	opts.FS = o.db.guard.WaitingFS(o.db.life.background, shortFS{o.db.opts.FS})
	opts.ErrorIfNotExists = o.db.folder.state != folderNew && !o.emptied
	opts.Cache = pebble.NewCache(o.db.opts.CacheBytes)
	defer opts.Cache.Unref()
	o.db.DB, err = pebble.Open(o.db.folder.path("pebble"), opts)
	return err
}

// defaultBlockBytes is the size of Pebble's blocks. A damaged bit makes one block unreadable.
const defaultBlockBytes = 32 << 10

// blocksOfFile is the approximate maximum number of blocks in a file of Pebble's level 0.
const blocksOfFile = 64

// pebbleOptions returns the options of the database without its cache. Pebble has no log, because
// the journal has all changes that are not in Pebble's files yet.
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
	// Chunks are compressed already. For the other data, Zstd is worth its cost in Pebble's last two
	// levels. The levels above them use a faster compression.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = o.blockBytes
	}
	opts.TargetFileSizes[0] = int64(o.blockBytes) * blocksOfFile
	opts.Experimental.SpanPolicyFunc = endFileAtChunks
	// A file that is missing or has a wrong size is set aside as damaged. It does not prevent the
	// opening of the store.
	opts.DisableConsistencyCheck = true
	// Without this option, an ingestion could return before it has replaced a damaged range.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	opts.EventListener = &pebble.EventListener{
		DataCorruption: w.corrupted, // by default, Pebble would end the process
		BackgroundError: func(err error) {
			if !pebble.IsCorruptionError(err) { // corruption is reported already
				o.Events.Failed("pebble", err)
			}
		},
	}
	opts.EnsureDefaults()
	return opts
}

// endFileAtChunks makes Pebble end a file before the first chunk, and after the last one.
//
// Each flush has entries of indexes, whose keys are before all chunks, and counts, whose keys are after them.
// If these keys shared files with chunks, each merge of new files would rewrite the chunks of all tables,
// also of those without new readings. Then each backup would copy the whole store.
func endFileAtChunks(start []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	for _, end := range [][]byte{{spaceChunk}, {spaceChunk + 1}} {
		if bytes.Compare(start, end) < 0 {
			return policy, end, nil
		}
	}
	return policy, nil, nil
}

// logger reports Pebble's errors and fatal failures, and discards its other messages.
type logger struct{ events Events }

func (logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	l.events.Failed("pebble", fmt.Errorf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	// The first line has the problem, and stack traces follow.
	msg, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	l.events.Fatal(msg)
	panic(msg)
}
