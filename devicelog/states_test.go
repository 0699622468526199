package devicelog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicelog"
)

// TestListStates_ReadsOnlyTheirEntries lists several states with a common prefix, the newest entry
// first. The list must need one query, and must read no entries of other states.
func TestListStates_ReadsOnlyTheirEntries(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		state := "NORMAL"
		if i%20 == 0 {
			state = fmt.Sprint("WARNING", 1+i/20%4)
		}
		w.log(devicelog.Entry{Device: "d", Time: noon.Add(time.Duration(i) * time.Minute), State: state, Message: fmt.Sprint(i)})
	}
	w.items.Queries, w.items.Returned = 0, 0
	q := devicelog.Query{Tenant: tenant, Device: "d", State: "WARNING*", Window: varve.AllTime(), Order: varve.Descending, Limit: 4}
	page, err := w.List(t.Context(), q)
	must(t, err)
	if w.items.Queries != 1 || w.items.Returned != 10 {
		t.Errorf("%d queries returned %d items, want 1 and 10", w.items.Queries, w.items.Returned)
	}
	var got []string
	for _, e := range page.Items {
		got = append(got, e.Message+" "+e.State)
	}
	if want := "180 WARNING2, 160 WARNING1, 140 WARNING4, 120 WARNING3"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestListStates_BoundsWork lists 1,100 entries of some states. That is more than the 1,000 entries
// that are read by state. The pages must lead to all entries, in order.
func TestListStates_BoundsWork(t *testing.T) {
	w := newWorld(t)
	for i := range 1100 {
		w.log(devicelog.Entry{Device: "d", Time: noon.Add(time.Duration(i) * time.Second), State: fmt.Sprint("WARNING", i%4), EscalatedTo: "s", Message: fmt.Sprint(i)})
	}
	for _, q := range []devicelog.Query{{Device: "d", State: "WARNING*"}, {Supervisor: "s", State: "WARNING*"}} {
		q.Tenant, q.Window, q.Limit = tenant, varve.AllTime(), 1000
		var got []string
		for page := 0; page == 0 || q.Cursor != ""; page++ {
			list, err := w.List(t.Context(), q)
			must(t, err)
			for _, e := range list.Items {
				got = append(got, e.Message)
			}
			q.Cursor = list.Next
		}
		if len(got) != 1100 || got[0] != "0" || got[1099] != "1099" {
			t.Errorf("%s%s: %d entries, %s", q.Device, q.Supervisor, len(got), strings.Join(got[:3], " "))
		}
	}
}
