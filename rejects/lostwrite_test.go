package rejects_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
)

// slowItems has writes that are durable immediately, and that return after a pause. A write whose
// context ends meanwhile fails nevertheless.
type slowItems struct {
	store.Items
	pause time.Duration
}

func (s slowItems) PutAll(ctx context.Context, list []store.Item) error {
	if err := s.Items.PutAll(context.WithoutCancel(ctx), list); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.pause):
		return nil
	}
}

// TestAdd_RecountsAfterFailedWrite checks that Options.Limit includes the rejects of a write that
// returned an error although it had stored them. If they are added once more, they count only once.
func TestAdd_RecountsAfterFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *rejects.Options) { o.Limit, o.Items = 3, slowItems{o.Items, time.Second} })
		two := []rejects.Reject{reject("a"), reject("b")}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := w.Add(ctx, two); err == nil {
			t.Fatal("no error of a write whose context ended")
		}
		if _, err := w.Add(t.Context(), two); err != nil {
			t.Fatal(err)
		}
		kept, err := w.Add(t.Context(), []rejects.Reject{reject("c"), reject("d")})
		if err != nil || !kept[0] || kept[1] {
			t.Errorf("%v %v, want room for one", kept, err)
		}
	})
}

// TestClose_LetsWriteFinish checks that Close does not cut off a write in progress. Otherwise the
// next try would count its rejects once more.
func TestClose_LetsWriteFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := registrytest.New(time.Now)
		w := newWorld(t, func(o *rejects.Options) { o.Items = slowItems{items, time.Second} })
		w.Offer([]rejects.Reject{reject("a")})
		synctest.Wait() // the write is in progress
		w.Close()
		after := newWorld(t, func(o *rejects.Options) { o.Items = items })
		if list := after.list(t, rejects.Query{}); len(list) != 1 || list[0].Times != 1 {
			t.Errorf("%+v, want one reject that arrived once", list)
		}
	})
}

// TestClose_LimitsWait checks that Close ends a write in progress after five seconds.
func TestClose_LimitsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *rejects.Options) { o.Items = slowItems{o.Items, time.Hour} })
		w.Offer([]rejects.Reject{reject("a")})
		synctest.Wait()
		begin := time.Now()
		w.Close()
		if d := time.Since(begin); d > 6*time.Second || w.Counts().Dropped[rejects.StoreFailed] != 1 {
			t.Errorf("Close took %s, %+v", d, w.Counts())
		}
	})
}
