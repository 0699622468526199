package local

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
)

// Options configures a store. The zero value of each field but Dir is useful.
type Options struct {
	// Dir is the store's folder; it is made if it is not there.
	Dir string
	// FS is the file system; nil is the operating system's, where only the user
	// that runs the process can read what it makes.
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
	// JournalBytes is how long a journal segment may grow before what it holds is
	// made durable elsewhere, even if it holds few readings. 0 is four times
	// TailBytes, and at least 64 MiB.
	JournalBytes int64
	// Salvage opens a store whose journal or VARVE file is damaged: it recovers
	// what it can, and reports the rest to Events.Lost.
	Salvage bool
	// Guarded are items that count as lost if they are missing after damage to the
	// journal. It may have held them.
	Guarded []store.Key
	// MinFree is how much room the disk must have for readings to be taken; other
	// items are taken down to half of it, and what makes room always is.
	// 0 is 256 MiB, negative is none.
	MinFree int64
	// Conditions receives health.DiskLow; nil is nobody.
	Conditions *health.Conditions
	// Events are told of what goes on.
	Events Events

	blockBytes int // of Pebble; 0 means defaultBlockBytes
}

// Events are called as things happen, from the goroutine in which they do;
// they must not call the store. Nil ones are skipped.
type Events struct {
	// Recovered: the journal was read when the store was opened.
	Recovered func(Recovery)
	// Lost: a damaged store was opened with Options.Salvage, and this could not
	// be recovered.
	Lost func([]Loss)
	// Restricted: so many files and folders of the store could be read by other
	// users, and cannot any more.
	Restricted func(files int)
	// Flushed: tails became chunks.
	Flushed func(readings int64, bytes int64, took time.Duration)
	// Failed: work in the background failed; it will be tried again.
	Failed func(what string, err error)
	// Damaged: a file does not check. It is set aside in the background.
	Damaged func(file string, err error)
	// SetAside: a damaged file was set aside; lost is what it took with it. It
	// may be nothing.
	SetAside func(file string, lost []Loss)
	// Fatal: the store cannot go on. The process should say why and end; if
	// Fatal returns, the store panics.
	Fatal func(msg string)
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = privateFS{vfs.Default}
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
	if o.JournalBytes == 0 {
		o.JournalBytes = max(4*o.TailBytes, 64<<20)
	}
	if o.blockBytes == 0 {
		o.blockBytes = defaultBlockBytes
	}
	if o.MinFree == 0 {
		o.MinFree = 256 << 20
	}
	if o.Events.Recovered == nil {
		o.Events.Recovered = func(Recovery) {}
	}
	if o.Events.Lost == nil {
		o.Events.Lost = func([]Loss) {}
	}
	if o.Events.Restricted == nil {
		o.Events.Restricted = func(int) {}
	}
	if o.Events.Flushed == nil {
		o.Events.Flushed = func(int64, int64, time.Duration) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(string, error) {}
	}
	if o.Events.Damaged == nil {
		o.Events.Damaged = func(string, error) {}
	}
	if o.Events.SetAside == nil {
		o.Events.SetAside = func(string, []Loss) {}
	}
	if o.Events.Fatal == nil {
		o.Events.Fatal = func(string) {}
	}
	return o
}
