package local

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// openPebble opens the database of a folder. Its own log holds only chunks
// that were just made, tables and items; readings come through the journal.
func openPebble(f *folder, o Options) (*pebble.DB, error) {
	cache := pebble.NewCache(o.CacheBytes)
	defer cache.Unref()
	opts := &pebble.Options{
		FS:                          o.FS,
		Cache:                       cache,
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
		opts.Levels[i].BlockSize = 32 << 10
	}
	return pebble.Open(f.path("pebble"), opts)
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
