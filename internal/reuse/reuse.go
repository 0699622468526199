// Package reuse holds values that are no longer used, so that later users reuse their memory.
//
// A sync.Pool does the same, but it loses its values in two garbage collections. On many virtual
// machines, the first access to new memory is slow, so buffers of a megabyte should not be lost.
//
// A [List] holds up to 8 values until they are used, and others until a garbage collection. [Grow]
// grows slices in few steps. Neither can fail, and neither clears memory: a value has the contents
// of its last user. A List is safe for concurrent use. After [List.Put], the caller must not use
// the value.
package reuse

import (
	"runtime"
	"sync"
)

// maxKept is the largest number of values that a List holds until they are used, on machines with
// many processors.
const maxKept = 8

// List holds up to GOMAXPROCS + 2 values, but at most 8, until they are used. The first call of Put reads
// GOMAXPROCS. Further values stay until a garbage collection. A List is safe for concurrent use. The zero
// List is ready for use, and must not be copied.
type List[T any] struct {
	mu   sync.Mutex
	list []*T
	most int
	rest sync.Pool
}

// Get returns a value that was put, or a new zero value.
func (l *List[T]) Get() *T {
	if v := l.pop(); v != nil {
		return v
	}
	if v, ok := l.rest.Get().(*T); ok {
		return v
	}
	return new(T)
}

func (l *List[T]) pop() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.list) - 1
	if last < 0 {
		return nil
	}
	v := l.list[last]
	l.list = l.list[:last]
	return v
}

// Put hands a value over to the list. The caller must not use it afterward.
func (l *List[T]) Put(v *T) {
	if !l.push(v) {
		l.rest.Put(v)
	}
}

func (l *List[T]) push(v *T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most == 0 {
		l.most = min(runtime.GOMAXPROCS(0)+2, maxKept)
		l.list = make([]*T, 0, l.most)
	}
	if len(l.list) == l.most {
		return false
	}
	l.list = append(l.list, v)
	return true
}

// Grow returns s with room for n more elements. A slice without that room gets at least four times
// its length. So it is copied less often than by append, which adds a quarter to large slices. Unlike
// slices.Grow, it does not write to the room.
func Grow[S ~[]E, E any](s S, n int) S {
	if cap(s)-len(s) >= n {
		return s
	}
	grown := make(S, len(s), len(s)+max(n, 3*len(s)))
	copy(grown, s)
	return grown
}
