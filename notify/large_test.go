package notify_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/store"
)

// limited is a store that refuses delivery records of more than 400 KB, as DynamoDB does. It also
// refuses all delivery records of one device while the field "refuses" is set.
type limited struct {
	store.Store
	device  string
	refuses atomic.Bool
}

func (s *limited) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if strings.HasPrefix(it.SK, "DELIVERY#") && (len(it.Attrs["data"].Text()) > 400_000 || s.refuses.Load() && it.Attrs["device"].Text() == s.device) {
		return &varve.Error{Failure: varve.Invalid, Message: "the item is too large"}
	}
	return s.Store.Put(ctx, it, conds...)
}

// TestSender_CutsLongTexts opens an alert by a text that is long as JSON, with a long threshold. The
// message must have the beginnings of both texts.
func TestSender_CutsLongTexts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, &limited{Store: newStore()}, all(r))
		w.hot(func(r *alerts.Rule) {
			r.Comparison, r.Threshold = "!=", varve.StringValue(strings.Repeat("é", 30_000))
		})
		long := valued("a", time.Now(), 0)
		long.Fields[0].Value = varve.StringValue(strings.Repeat("<", 60_000))
		w.write([]varve.Reading{long})
		w.send("b", time.Now(), 35)
		wait(5 * time.Second)
		expect(t, r, "opened a")
		const most = 1024
		for _, m := range r.messages {
			value, text := string(m.Alert.Value), m.Alert.Message
			if want := `"` + strings.Repeat(`\u003c`, most) + `…"`; value != want {
				t.Errorf("the value has %d bytes, want %d: %.20s", len(value), len(want), value)
			}
			if !strings.HasPrefix(text, "v != é") || !strings.HasSuffix(text, "é…") || len(text) > most+len("…") {
				t.Errorf("the message has %d bytes, want at most %d: %.20s", len(text), most, text)
			}
		}
	})
}

// TestSender_DeliversDespiteRefusedRecord checks that a record which the store refuses does not
// delay other alerts, and that it is retried.
func TestSender_DeliversDespiteRefusedRecord(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		s := &limited{Store: newStore(), device: "a"}
		s.refuses.Store(true)
		w := open(t, s, all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		w.send("b", time.Now(), 35)
		wait(5 * time.Second)
		expect(t, r, "opened b")
		w.send("c", time.Now(), 35)
		wait(5 * time.Second)
		expect(t, r, "opened b, opened c")
		s.refuses.Store(false)
		wait(time.Minute)
		expect(t, r, "opened b, opened c, opened a")
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}
