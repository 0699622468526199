package erasures

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// interruptedDeletion deletes only the last key of the first call of DeleteAll, which then fails.
type interruptedDeletion struct {
	store.Items
	done bool
}

func (i *interruptedDeletion) DeleteAll(ctx context.Context, keys []store.Key) error {
	if i.done {
		return i.Items.DeleteAll(ctx, keys)
	}
	i.done = true
	return errors.Join(i.Items.DeleteAll(ctx, keys[len(keys)-1:]), errors.New("the process ended"))
}

// TestEraseTraces_FindsRecordsAfterInterruption interrupts the deletion of an alert. The next erasure must find its
// outbox entry and its delivery record, because both have names and values.
func TestEraseTraces_FindsRecordsAfterInterruption(t *testing.T) {
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	s := mem.New(func() time.Time { return at })
	id, pk := fmt.Sprintf("%016x-hash", at.UnixNano()), registry.DevicePK("acme", "d")
	alert := store.Item{Key: store.Key{PK: pk, SK: "ALERT#" + id}, Attrs: map[string]varve.Value{"stream": varve.StringValue("weather")}}
	others := []store.Key{{PK: "OUTBOX", SK: "acme/d#" + id}, {PK: pk, SK: "DELIVERY#" + id}}
	if err := s.PutAll(t.Context(), []store.Item{alert, {Key: others[0]}, {Key: others[1]}}); err != nil {
		t.Fatal(err)
	}
	e := &Eraser{opts: Options{Items: &interruptedDeletion{Items: s}}}
	target := &scope{Target: Target{Tenant: "acme", Device: "d", Stream: "weather", Window: varve.Window{From: at, To: at.Add(time.Hour)}}}
	if _, err := e.eraseTraces(t.Context(), target); err == nil {
		t.Fatal("the first deletion was not interrupted")
	}
	if _, err := e.eraseTraces(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Get(t.Context(), append(others, alert.Key), true); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v, want no item", left, err)
	}
}
