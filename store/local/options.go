package local

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configures a store. The zero value of each field but Dir is useful.
type Options struct {
	// Dir is the store's folder; it is made if it is not there.
	Dir string
	// FS is the file system; nil is the operating system's.
	FS vfs.FS
	// Now tells expired items; nil is time.Now.
	Now func() time.Time
	// TailBytes is how much memory readings may take before they are turned
	// into chunks; up to twice as much while that goes on. 0 is 64 MiB.
	TailBytes int64
	// CacheBytes is the size of the cache of chunks. 0 is 64 MiB.
	CacheBytes int64
	// ChunkReadings is about how many readings a chunk holds. 0 is 1024.
	ChunkReadings int
	// MaxSmalls is how many small or late chunks a series may have in a table
	// before they are merged with the others. 0 is 8.
	MaxSmalls int
	// MinFree is how much room the disk must have for writes to be taken.
	// 0 is 256 MiB, negative is none.
	MinFree int64
	// Events are told of what goes on.
	Events Events
}

// Events are called as things happen, from the goroutine in which they do;
// they must not call the store. Nil ones are skipped.
type Events struct {
	// Recovered: the journal was read when the store was opened. Torn is how
	// many bytes of writes it held that were cut short by the crash and had
	// never been acknowledged.
	Recovered func(readings int64, torn int64, took time.Duration)
	// Flushed: tails became chunks.
	Flushed func(readings int64, bytes int64, took time.Duration)
	// Failed: work in the background failed; it will be tried again.
	Failed func(what string, err error)
	// Fatal: the store cannot go on. The process should say why and end; if
	// Fatal returns, the store panics.
	Fatal func(msg string)
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TailBytes == 0 {
		o.TailBytes = 64 << 20
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.ChunkReadings == 0 {
		o.ChunkReadings = 1024
	}
	if o.MaxSmalls == 0 {
		o.MaxSmalls = 8
	}
	if o.MinFree == 0 {
		o.MinFree = 256 << 20
	}
	if o.Events.Recovered == nil {
		o.Events.Recovered = func(int64, int64, time.Duration) {}
	}
	if o.Events.Flushed == nil {
		o.Events.Flushed = func(int64, int64, time.Duration) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(string, error) {}
	}
	if o.Events.Fatal == nil {
		o.Events.Fatal = func(string) {}
	}
	return o
}
