package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestStreamLayout_EndsWithItsContext blocks the read of all tables that the first caller has begun. Each
// caller must return when its own context ends. The others must get the result of that read.
func TestStreamLayout_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: time.Now})
	tb := newTable(t, s)
	if got := send(t, s, tb, sensor(someTime, "v", varve.IntValue(1))); got != "s" {
		t.Fatalf("verdicts %s", got)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	link := &actionHook{action: "ListTables", before: func() { close(begun); <-release }}
	other := openWith(t, dynamo.Options{Client: hooked(url, link), Registry: "t_registry", Now: time.Now})
	series := sensor(someTime, "v", varve.IntValue(1)).Series
	read := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			found, err := other.StreamLayout(ctx, series.Tenant, series.Stream)
			if err == nil && len(found.Prefixes) == 0 {
				err = errors.New("the layout has no tables")
			}
			done <- err
		}()
		return done
	}
	expect := func(who string, done <-chan error, want error) {
		t.Helper()
		select {
		case err := <-done:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", who, err, want)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: no answer, want %v", who, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := read(ctx)
	<-begun
	limited, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	expect("a waiting caller", read(limited), context.DeadlineExceeded)
	cancel()
	expect("the first caller", first, context.Canceled)
	last := read(t.Context())
	close(release)
	expect("the last caller", last, nil)
	if n := link.sent.Load(); n != 1 {
		t.Errorf("%d lists of tables, want 1", n)
	}
}
