package chunk

import "github.com/varvedb/varve"

// Arena hands out memory for the fields of many readings, allocating it for
// ever more of them at once. The zero Arena is ready.
type Arena struct {
	free []varve.Field
	last int
}

// maxArena is how many fields an arena allocates at a time at most.
const maxArena = 4096

// Take returns an empty slice with room for n fields: old if it has.
func (a *Arena) Take(old []varve.Field, n int) []varve.Field {
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
