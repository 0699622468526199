package local

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync"

	"github.com/varvedb/varve"
)

// memoryLock is the lock of memory. It consists of a lock for the tables and memtables, and a lock for
// each shard, so that writes of different series run at the same time.
//
//   - Lock excludes all other holders.
//   - RLock excludes only holders of Lock. Its holder may read tables, but not series buffers.
//   - The lock of a shard excludes holders of Lock, too. So its holder may also read tables.
//
// A goroutine holds at most one of these locks. No I/O happens meanwhile.
type memoryLock struct {
	global sync.RWMutex
	shards []shard
}

// shard has the lock of a share of all series, and lists their series buffers with rows in each
// memtable, indexed by Memtable.Parity.
type shard struct {
	sync.RWMutex
	filled [2][]*seriesBuffer
	_      [64]byte // keeps the locks of two shards out of one cache line
}

// Lock locks memory for changes of tables, or of series buffers of all shards.
func (l *memoryLock) Lock() {
	l.global.Lock()
	for i := range l.shards {
		l.shards[i].Lock()
	}
}

// Unlock releases Lock.
func (l *memoryLock) Unlock() {
	for i := range l.shards {
		l.shards[i].Unlock()
	}
	l.global.Unlock()
}

// RLock locks memory for reads of tables.
func (l *memoryLock) RLock() { l.global.RLock() }

// RUnlock releases RLock.
func (l *memoryLock) RUnlock() { l.global.RUnlock() }

// shardSeed makes the shard of a series differ from process to process, so that no client can choose
// series of one shard.
var shardSeed = maphash.MakeSeed()

// indexOf returns the index of the shard of a series.
func (l *memoryLock) indexOf(s varve.Series) int {
	h := maphash.String(shardSeed, s.Device) + bits.RotateLeft64(maphash.String(shardSeed, s.Stream), 32)
	return int(h & uint64(len(l.shards)-1))
}

// shardOf returns the index of the shard of a series, and the shard.
func (l *memoryLock) shardOf(s varve.Series) (int, *shard) {
	i := l.indexOf(s)
	return i, &l.shards[i]
}

// Bounds of the number of shards. Each shard has body pages of its own in each memtable, so many shards
// need more memory.
const (
	minShards = 4
	maxShards = 32
)

// shardCount returns the number of shards, which is a power of two. By default, it is at least twice the
// number of processors, up to maxShards, so that two writes rarely need the same shard.
func (o *Options) shardCount() int {
	if o.shards > 0 {
		return o.shards
	}
	return min(max(1<<bits.Len(uint(2*runtime.GOMAXPROCS(0)-1)), minShards), maxShards)
}
