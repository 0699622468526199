package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/health"
)

// The first and the longest pause before the store is reopened.
const (
	firstReopen = time.Second
	lastReopen  = 10 * time.Second
)

// switched is a handler that can be replaced while the server runs.
type switched struct{ handler atomic.Pointer[http.Handler] }

func newSwitched(h http.Handler) *switched {
	s := &switched{}
	s.set(h)
	return s
}

func (s *switched) set(h http.Handler) { s.handler.Store(&h) }

// ServeHTTP implements http.Handler.
func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.handler.Load()).ServeHTTP(w, r)
}

// openUntil opens the engine. While DynamoDB is unavailable, it retries until ctx ends. It returns
// any other failure.
func (a service) openUntil(ctx context.Context, c *config.Config, log zerolog.Logger, conditions *health.Conditions) (*engine.Engine, error) {
	failures := newFailures(log, now)
	for pause := firstReopen; ; pause = min(2*pause, lastReopen) {
		e, err := a.openEngine(ctx, c, log, conditions)
		if err == nil {
			conditions.Clear(health.StoreUnreachable)
		}
		if err == nil || !mayPass(err) {
			return e, err
		}
		failures.failed("open", err)
		conditions.Set(health.StoreUnreachable, err.Error())
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// mayPass reports whether a failure to open the store may end without a change by the operator.
// Failures because of wrong credentials, permissions or names do not.
func mayPass(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Unavailable && e.RetryAfter > 0
}
