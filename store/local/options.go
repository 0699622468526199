package local

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/memtable"
)

// Options configures a store. The zero value of each field except Dir is useful.
type Options struct {
	// Dir is the folder of the store. It is created if it is missing.
	Dir string
	// FS is the file system. If nil, it is the file system of the operating system.
	//
	// With the default, only the user of the process can read the files of the store.
	FS vfs.FS
	// Now is the clock for expired items and recorded times. If nil, it is time.Now.
	Now func() time.Time
	// MemtableBytes is the size at which a memtable is flushed.
	//
	// If a flush is slow, the next memtable may become about twice as large before writes wait. 0
	// means 64 MiB. The maximum is MaxMemtableBytes.
	MemtableBytes int64
	// CacheBytes is the size of Pebble's block cache. 0 means 64 MiB.
	CacheBytes int64
	// ChunkReadings is the approximate number of readings in a chunk. 0 means 1024.
	ChunkReadings int
	// MaxLevel0 limits the number of chunks of level 0 of a series in a table.
	//
	// When a series has this number, its chunks are merged into level 1. 0 means 8.
	MaxLevel0 int
	// JournalBytes is the size at which a segment of the journal ends, even if it has few readings.
	//
	// 0 means four times MemtableBytes, but at least 64 MiB.
	JournalBytes int64
	// Salvage opens a store even if its journal or VARVE file is damaged, or Pebble is missing.
	//
	// The store recovers as much as possible. It reports missing and damaged parts to Events.Lost, and
	// Store.Losses returns the lost ranges of keys.
	Salvage bool
	// Restoring opens a folder that is still being restored: it has the file FileRestoring in place
	// of VARVE.
	Restoring bool
	// Guarded are the keys of items whose loss must not go unnoticed. If Salvage finds that a part of the
	// journal or of Pebble is lost, each of these items that is missing counts as lost.
	Guarded []store.Key
	// MinFree is the free space in bytes below which readings are refused. Items are refused below
	// half of it. Changes that free space are permitted until a write finds no room. 0 means 256 MiB,
	// and a negative value means no limit.
	MinFree int64
	// Conditions receives health.DiskLow and health.DataDamaged. It may be nil.
	Conditions *health.Conditions
	// Events receives the events of the store.
	Events Events

	blockBytes  int // size of Pebble's blocks; 0 means defaultBlockBytes
	changeBytes int // maximum size of a change of items or tables; 0 means journal.MaxPayload

	// columns limits the cached columns of a memtable. If its Bytes are 0, they are a quarter of
	// MemtableBytes. If they are negative, columns are not cached.
	columns memtable.Caching

	shards int // number of shards of memory, a power of two; 0 means that it depends on the processors
}

// minCachedRows is the default of memtable.Caching.MinRows.
const minCachedRows = 64

func (o *Options) columnCache() memtable.Caching {
	c := o.columns
	if c.Bytes == 0 {
		c.Bytes = o.MemtableBytes / 4
	}
	if c.MinRows == 0 {
		c.MinRows = minCachedRows
	}
	return c
}

// Events has callbacks. They run in the goroutine in which the event happens, and must not call the
// store. A nil callback is skipped.
type Events struct {
	// Recovered is called after Open has recovered the data in the journal.
	Recovered func(Recovery)
	// Lost is called with the losses at the end of Open, if a damaged store is opened with
	// Options.Salvage. Some of the losses may be harmless.
	Lost func([]Loss)
	// Restricted is called if Open removed permissions of other users. The argument is the number
	// of changed files and folders.
	Restricted func(files int)
	// Flushed is called after a memtable was flushed into chunks.
	Flushed func(readings int64, bytes int64, took time.Duration)
	// Failed is called if background work failed. The store continues, and retries most work later.
	Failed func(what string, err error)
	// Damaged is called if a file fails its checks. If the file is one of Pebble's, it is then set
	// aside.
	Damaged func(file string, err error)
	// SetAside is called after a damaged file was set aside, with its losses, if any.
	SetAside func(file string, lost []Loss)
	// Fatal is called if the store cannot continue. The process should log the message and end.
	// If Fatal returns, the store panics.
	Fatal func(msg string)
}

// MaxMemtableBytes is the maximum of Options.MemtableBytes. A memtable may become 2.25 times as
// large, and a replay of the journal puts two of them into one. The offsets of its bodies have 32
// bits.
const MaxMemtableBytes = 512 << 20

func (o Options) validate() error {
	if o.MemtableBytes > MaxMemtableBytes {
		return varve.Errorf(varve.Invalid, "store.memory is %d bytes, the maximum is %d", o.MemtableBytes, int64(MaxMemtableBytes))
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = privateFS{vfs.Default}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MemtableBytes == 0 {
		o.MemtableBytes = 64 << 20
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.ChunkReadings == 0 {
		o.ChunkReadings = 1024
	}
	if o.MaxLevel0 == 0 {
		o.MaxLevel0 = 8
	}
	if o.JournalBytes == 0 {
		o.JournalBytes = max(4*o.MemtableBytes, 64<<20)
	}
	if o.changeBytes == 0 {
		o.changeBytes = journal.MaxPayload
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
