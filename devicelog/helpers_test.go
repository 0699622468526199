package devicelog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/registry/registrytest"
)

// noon is the time at which most tests begin.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

const (
	tenant = varve.DefaultTenant
	day    = 24 * time.Hour
)

// world is a log in memory, with a clock that tests advance.
type world struct {
	*devicelog.Log
	t     testing.TB
	items *registrytest.Items
	clock time.Time
}

func newWorld(t testing.TB, change ...func(*devicelog.Options)) *world {
	w := &world{t: t, clock: noon}
	w.items = registrytest.New(w.now)
	o := devicelog.Options{Items: w.items, Now: w.now}
	for _, c := range change {
		c(&o)
	}
	w.Log = devicelog.New(o)
	return w
}

func (w *world) now() time.Time { return w.clock }

func (w *world) advance(d time.Duration) { w.clock = w.clock.Add(d) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// invalid expects an Invalid error about a parameter, whose message contains text.
func invalid(t *testing.T, err error, param, text string) {
	t.Helper()
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param || !strings.Contains(e.Message, text) {
		t.Errorf("%v: want an error about %s with %q", err, param, text)
	}
}
