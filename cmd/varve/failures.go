package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
)

// repeatEvery is the shortest interval between logs of the same failure.
const repeatEvery = 10 * time.Second

// failures logs repeated failures at intervals, not each time.
type failures struct {
	log zerolog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[string]*repeated
}

type repeated struct {
	at      time.Time // when the failure was last logged
	leftOut int       // number of later failures, which were not logged
}

func newFailures(log zerolog.Logger, now func() time.Time) *failures {
	return &failures{log: log, now: now, last: map[string]*repeated{}}
}

func (f *failures) failed(what string, err error) {
	if leftOut, due := f.due(what); due {
		counted(f.log.Error().Err(err).Str("task", what), leftOut).Msg("background task failed, retrying")
	}
}

func (f *failures) rejected(step string, err error) {
	if leftOut, due := f.due(step); due {
		counted(f.log.Error().Err(err).Str("step", step), leftOut).Msg("readings rejected temporarily")
	}
}

func (f *failures) changed(c health.Condition, holds bool) {
	ev, msg := f.log.Error(), "condition set"
	if !holds {
		ev, msg = f.log.Info(), "condition cleared"
	}
	if leftOut, due := f.due(msg + " " + string(c.Name)); due {
		counted(ev.Str("condition", string(c.Name)).Str("detail", c.Message), leftOut).Msg(msg)
	}
}

// due reports whether to log an event with the given name. The result "leftOut" is the number of events
// with this name that were omitted since the last logged one.
func (f *failures) due(what string) (leftOut int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, r := f.now(), f.last[what]
	if r != nil && at.Sub(r.at) < repeatEvery {
		r.leftOut++
		return 0, false
	}
	if r != nil {
		leftOut = r.leftOut
	}
	f.forget(at)
	f.last[what] = &repeated{at: at}
	return leftOut, true
}

// counted adds the number of omitted events to a log event.
func counted(ev *zerolog.Event, leftOut int) *zerolog.Event {
	if leftOut > 0 {
		ev = ev.Int("left_out", leftOut)
	}
	return ev
}

// forget removes old failures. Otherwise the map would grow, because each table may have failures
// with names of their own.
func (f *failures) forget(now time.Time) {
	for what, r := range f.last {
		if now.Sub(r.at) > 10*repeatEvery {
			delete(f.last, what)
		}
	}
}

// request logs a request that failed because of the server. While the store is unavailable, it logs
// each route at intervals only.
func (f *failures) request(r *http.Request, err error) {
	leftOut := 0
	if r != nil && varve.FailureOf(err) == varve.Unavailable {
		var due bool
		if leftOut, due = f.due("request " + r.Pattern); !due {
			return
		}
	}
	ev := counted(f.log.Error().Err(err), leftOut)
	if r != nil {
		ev = ev.Str("method", r.Method).Str("path", r.URL.Path)
	}
	ev.Msg("request failed")
}
