package rotator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// TestRun_DropsOnlyArchivedTables retires the tables of a month and checks which of them a run
// drops. With ArchiveFirst, the run must drop a table only if the record and the files of its archive permit
// the drop.
func TestRun_DropsOnlyArchivedTables(t *testing.T) {
	missing, changed := errors.New("the catalog of archives is away"), errors.New("part-1.parquet is missing")
	archived := func(reason string, err error) func(context.Context) (func(grid.Table) string, error) {
		return func(context.Context) (func(grid.Table) string, error) {
			return func(grid.Table) string { return reason }, err
		}
	}
	whole := func(err error) func(context.Context, *store.Info) error {
		return func(_ context.Context, in *store.Info) error {
			if in.Retired.IsZero() {
				t.Errorf("%s is checked before it is retired", in.Table)
			}
			return err
		}
	}
	for _, c := range []struct {
		reason  string
		options rotator.Options
		drops   bool
		skipped string
		fails   error
		refused bool
	}{
		{"archived and whole", rotator.Options{Archived: archived("", nil), CheckArchive: whole(nil)}, true, "", nil, false},
		{"not archived", rotator.Options{Archived: archived("not archived yet", nil), CheckArchive: whole(nil)}, false, "not archived yet", nil, false},
		{"unknown", rotator.Options{Archived: archived("", missing), CheckArchive: whole(nil)}, false, missing.Error(), missing, false},
		{"changed since", rotator.Options{Archived: archived("", nil), CheckArchive: whole(changed)}, false, "its archive is not whole: part-1.parquet is missing", nil, true},
		{"no archive", rotator.Options{}, false, "no archive is configured", nil, false},
		{"no files", rotator.Options{Archived: archived("", nil)}, false, "no archive is configured", nil, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := runWorld(t)
			month := w.retireFirstMonth(t)
			o, refused := c.options, 0
			o.Catalog, o.Creator, o.Lifecycle, o.Items, o.Policy, o.Now, o.Holder = w.store, w.store, w.store, w.store, w.policy, w.now, "archiving"
			o.Policy.ArchiveFirst = true
			o.Events.Refused = func(grid.Table, error) { refused++ }
			p, err := rotator.New(o).Run(t.Context())
			if c.fails != nil && !errors.Is(err, c.fails) || c.drops && err != nil {
				t.Errorf("the run ended with %v, want %v", err, c.fails)
			}
			left := w.countTables(month)
			if dropped := left == 0; dropped != c.drops {
				t.Errorf("%d tables of the month exist, dropped: %t, want %t", left, dropped, c.drops)
			}
			reasons := ""
			for _, k := range p.Skipped {
				reasons += k.Reason + "\n"
			}
			if !strings.Contains(reasons, c.skipped) || p.Counts()[rotator.Drop] > 0 != c.drops {
				t.Errorf("%d drops, skipped: %q, want %q", p.Counts()[rotator.Drop], reasons, c.skipped)
			}
			if refused > 0 != c.refused {
				t.Errorf("%d drops were refused, want any: %t", refused, c.refused)
			}
		})
	}
}

// retireFirstMonth retires the tables of the first month, and advances the clock past their grace period.
func (w *world) retireFirstMonth(t *testing.T) grid.Month {
	t.Helper()
	mustRun(t, w.rotator)
	month := w.tables()[0].Month
	w.clock = w.clock.Add(60 * day)
	mustRun(t, w.rotator)
	w.clock = w.clock.Add(20 * day)
	return month
}

func (w *world) countTables(month grid.Month) (n int) {
	for _, in := range w.tables() {
		if in.Month == month {
			n++
		}
	}
	return n
}
