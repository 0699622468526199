package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// repeatEvery is how often the same failure of the store is logged at the most.
const repeatEvery = 10 * time.Second

// failures logs what keeps failing now and then, not each time.
type failures struct {
	log zerolog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[string]*repeated
}

type repeated struct {
	at      time.Time // when it was logged
	leftOut int       // since then
}

func newFailures(log zerolog.Logger, now func() time.Time) *failures {
	return &failures{log: log, now: now, last: map[string]*repeated{}}
}

func (f *failures) failed(what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, r := f.now(), f.last[what]
	if r != nil && at.Sub(r.at) < repeatEvery {
		r.leftOut++
		return
	}
	ev := f.log.Error().Err(err).Str("what", what)
	if r != nil && r.leftOut > 0 {
		ev = ev.Int("left_out", r.leftOut)
	}
	ev.Msg("store: will be tried again")
	f.forget(at)
	f.last[what] = &repeated{at: at}
}

// forget drops what has not failed for long: there are as many kinds of failure
// as tables.
func (f *failures) forget(now time.Time) {
	for what, r := range f.last {
		if now.Sub(r.at) > 10*repeatEvery {
			delete(f.last, what)
		}
	}
}

// requestFailed logs a request that failed through no fault of its own.
func requestFailed(log zerolog.Logger, r *http.Request, err error) {
	ev := log.Error().Err(err)
	if r != nil {
		ev = ev.Str("method", r.Method).Str("path", r.URL.Path)
	}
	ev.Msg("request failed")
}
