// Package acceptlog logs the failures of listeners.
//
//	kernel ─▶ net.Listener ─▶ Listener ─▶ server
//	                             │
//	                             └─▶ log, at most once a minute
//
// A server retries after a failure, such as too many open files, and does not report it. Meanwhile,
// clients cannot connect, and nothing else shows the reason.
//
// A [Listener] returns each connection and each error unchanged. It logs an error unless the
// listener was closed, or the previous entry is less than a minute old. An entry has the number of failures
// that were not logged since the previous entry. A Listener is safe for concurrent use if the wrapped one
// is.
package acceptlog

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// every is the shortest time between two entries of the log.
const every = time.Minute

// Listener is a listener whose failures to accept a connection are logged. Create it with New.
type Listener struct {
	net.Listener
	log zerolog.Logger
	now func() time.Time

	mu      sync.Mutex
	logged  time.Time // time of the last entry
	omitted int       // number of failures since the last entry
}

// New returns a listener that logs the failures of l.
func New(l net.Listener, log zerolog.Logger, now func() time.Time) *Listener {
	return &Listener{Listener: l, log: log, now: now}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.report(err)
	}
	return conn, err
}

// report logs a failure, unless the last entry is less than a minute old. An entry has the number of failures
// that were not logged since the entry before.
func (l *Listener) report(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if age := now.Sub(l.logged); !l.logged.IsZero() && age >= 0 && age < every {
		l.omitted++
		return
	}
	l.log.Error().Err(err).Stringer("address", l.Addr()).Int("omitted", l.omitted).Msg("connection not accepted")
	l.logged, l.omitted = now, 0
}
