package chunk

import "github.com/varvedb/varve"

// Arena allocates the fields of many readings in blocks of increasing size. The zero Arena is ready
// to use.
type Arena struct {
	free []varve.Field
	last int
}

// maxArena is the maximum number of fields in one allocation.
const maxArena = 4096

// Fields returns an empty slice with capacity for n fields. It reuses "old" if possible.
func (a *Arena) Fields(old []varve.Field, n int) []varve.Field {
	if cap(old) >= n {
		return old[:0]
	}
	if len(a.free) < n {
		a.last = max(n, min(4*a.last, maxArena))
		a.free = make([]varve.Field, a.last)
	}
	s := a.free[:0:n]
	a.free = a.free[n:]
	return s
}
