package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// startDrop writes a reading, retires its table, and drops it. The requests of the drop pass through a
// hook for one action. The function "arm" sets the functions of the hook.
func startDrop(t *testing.T, url, action string, arm func(h *actionHook, cancel func())) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &actionHook{action: action}
	p := launch(t, url, "t_reg", h)
	p.rotate()
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(1))), varve.Stored)
	if err := p.store.Retire(t.Context(), p.table(), someTime); err != nil {
		t.Fatal(err)
	}
	h.sent.Store(0)
	arm(h, cancel)
	return p.store.Drop(ctx, p.table())
}

// checkKept checks that the table of a process exists, is protected and accepts readings.
func checkKept(t *testing.T, url string, p *process) {
	t.Helper()
	if !aws.ToBool(describe(t, url, p.table().Name()).DeletionProtectionEnabled) {
		t.Error("the table is not protected")
	}
	p.expect("write", p.write(sensor(someTime, "v", varve.IntValue(2))), varve.Stored)
}

// TestDrop_UndoesItselfWhenCanceled cancels a drop before the deletion, as the stop of a process does. The
// table must be usable and protected.
func TestDrop_UndoesItselfWhenCanceled(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	err := startDrop(t, url, "UpdateTable", func(h *actionHook, cancel func()) { h.after = cancel })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("drop: %v, want it canceled", err)
	}
	checkKept(t, url, launch(t, url, "t_reg", nil))
}

// TestRestore_UndoesDropOfKilledProcess kills a process that drops a table, before the deletion begins.
// The table must become usable when it is restored or put on hold.
func TestRestore_UndoesDropOfKilledProcess(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *process) error{
		"restore": func(p *process) error { return p.store.Restore(t.Context(), p.table()) },
		"hold":    func(p *process) error { return p.store.Hold(t.Context(), p.table(), "audit") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := standIn(t)
			err := startDrop(t, url, "UpdateTable", func(h *actionHook, _ func()) { h.after = func() { h.dead.Store(true) } })
			if err == nil {
				t.Fatal("the drop succeeded after the process was killed")
			}
			p := launch(t, url, "t_reg", nil)
			if err := change(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkKept(t, url, p)
		})
	}
}

// TestHold_StopsDropOfOtherProcess puts a table on hold while another process drops it. The hold must
// succeed and keep the table, or fail because the deletion has begun.
func TestHold_StopsDropOfOtherProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action string
		after  bool
		keeps  bool
	}{
		{"UpdateTable", false, true}, {"UpdateTable", true, true}, {"DeleteTable", false, true}, {"DeleteTable", true, false},
	} {
		t.Run(c.action, func(t *testing.T) {
			t.Parallel()
			url := standIn(t)
			p := launch(t, url, "t_reg", nil)
			var herr error
			hold := func() { herr = p.store.Hold(t.Context(), p.table(), "audit") }
			err := startDrop(t, url, c.action, func(h *actionHook, _ func()) {
				if h.before = hold; c.after {
					h.before, h.after = nil, hold
				}
			})
			if c.keeps {
				if herr != nil || err == nil {
					t.Errorf("hold: %v, drop: %v; want a hold and no drop", herr, err)
				}
				checkKept(t, url, p)
				return
			}
			if !errors.Is(herr, store.ErrNoTable) || err != nil {
				t.Errorf("hold: %v, drop: %v; want no table", herr, err)
			}
		})
	}
}
