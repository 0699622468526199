package alerts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"pgregory.net/rapid"
)

// pages reads a list to its end. It expects every page but the last to be full. The last page may
// be empty only if it is the only one.
func (w *world) pages(rt *rapid.T, l alerts.AlertList) (all []alerts.Alert) {
	for l.Tenant = tenant; ; {
		page, err := w.Alerts(w.t.Context(), l)
		must(w.t, err)
		n := len(page.Items)
		if n > l.Limit || page.Next != "" && n < l.Limit || page.Next == "" && n == 0 && l.Cursor != "" {
			rt.Fatalf("%+v: a page of %d, next %q", l, n, page.Next)
		}
		all = append(all, page.Items...)
		if l.Cursor = page.Next; l.Cursor == "" {
			return all
		}
	}
}

// TestAlerts_FilterByStateInFullPages compares the lists of one state with the list of all alerts.
func TestAlerts_FilterByStateInFullPages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.rule(above(5, 0))
		warn := above(7, 0)
		warn.Severity = alerts.Warning
		w.rule(warn)
		for i := range rapid.IntRange(0, 30).Draw(rt, "n") {
			r := valued(i, rapid.SampledFrom([]int64{1, 6, 8}).Draw(rt, "v"))
			r.Device = fmt.Sprint("d", rapid.IntRange(0, 3).Draw(rt, "device"))
			w.send(r)
		}
		list := alerts.AlertList{Limit: rapid.IntRange(1, 12).Draw(rt, "limit")}
		switch rapid.IntRange(0, 2).Draw(rt, "of") {
		case 0:
			list.Device = "d1"
		case 1:
			list.Severity = alerts.Critical
		}
		all := w.pages(rt, list)
		for i := range all {
			if all[i].Open() && rapid.Bool().Draw(rt, "by hand") {
				var err error
				all[i], err = w.ResolveAlert(t.Context(), tenant, all[i].ID)
				must(t, err)
			}
		}
		for _, list.State = range alerts.AlertStates() {
			want := slices.DeleteFunc(slices.Clone(all), func(a alerts.Alert) bool { return a.State() != list.State })
			if got := w.pages(rt, list); !slices.Equal(got, want) {
				rt.Fatalf("%+v:\n got %+v\nwant %+v", list, got, want)
			}
		}
	})
}

// TestAlerts_SelectWindowInFullPages compares the lists of windows with the list of all alerts.
func TestAlerts_SelectWindowInFullPages(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	for i := range 40 {
		r := valued(i, int64(9*(i%2)))
		r.Device = fmt.Sprint("d", i%3)
		w.send(r)
	}
	rapid.Check(t, func(rt *rapid.T) {
		at := func(label string) time.Time { return valued(rapid.IntRange(-3, 43).Draw(rt, label), 0).Time }
		list := alerts.AlertList{Limit: rapid.IntRange(1, 12).Draw(rt, "limit"), Window: varve.Window{From: at("from"), To: at("to")}, Asked: []string{"w"}}
		if rapid.Bool().Draw(rt, "of a device") {
			list.Device = "d1"
		}
		whole := list
		whole.Window = varve.Window{}
		want := slices.DeleteFunc(w.pages(rt, whole), func(a alerts.Alert) bool { return !list.Window.Contains(a.Since) })
		if got := w.pages(rt, list); !slices.Equal(got, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", list, got, want)
		}
	})
}

func TestAlerts_RejectUnknownStateAndForeignCursor(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	w.send(valued(0, 9), valued(1, 1), valued(2, 9), valued(3, 1), valued(4, 9))
	for _, l := range []alerts.AlertList{{Device: "d"}, {}} {
		l.Tenant, l.State, l.Limit = tenant, "shut", 1
		_, err := w.Alerts(t.Context(), l)
		invalid(t, err, "state", `"shut" is unknown: use open or resolved`)
		l.State = alerts.Resolved
		page, err := w.Alerts(t.Context(), l)
		must(t, err)
		l.Cursor = page.Next
		for _, l.State = range []alerts.AlertState{alerts.Open, ""} {
			_, err = w.Alerts(t.Context(), l)
			invalid(t, err, "cursor", "another list")
		}
	}
}

// TestAlerts_FindOpenAmongThousands checks that few queries find one open alert among thousands
// of resolved ones.
func TestAlerts_FindOpenAmongThousands(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	first := valued(0, 9)
	first.Device = "e"
	var all []varve.Reading
	for i := range 3000 {
		all = append(all, valued(1+2*i, 9), valued(2+2*i, 1))
	}
	w.send(append(all, first)...)
	for _, l := range []alerts.AlertList{{Tenant: tenant}, {Tenant: tenant, Severity: alerts.Critical}} {
		l.State, l.Limit = alerts.Open, 10
		before := w.items.Queries
		page, err := w.Alerts(t.Context(), l)
		must(t, err)
		if n := w.items.Queries - before; len(page.Items) != 1 || page.Items[0].Device != "e" || page.Next != "" || n > 70 {
			t.Errorf("%+v: %d queries, %+v", l, n, page)
		}
	}
}
