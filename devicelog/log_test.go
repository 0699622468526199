package devicelog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

func (w *world) log(l devicelog.Entry) varve.Outcome {
	w.t.Helper()
	l.Tenant = tenant
	_, v, err := w.Add(w.t.Context(), l)
	must(w.t, err)
	return v.Outcome
}

func (w *world) messages(l devicelog.Query) string {
	w.t.Helper()
	l.Tenant = tenant
	if l.Window == (varve.Window{}) {
		l.Window = varve.AllTime()
	}
	var all []string
	for {
		page, err := w.List(w.t.Context(), l)
		must(w.t, err)
		for _, one := range page.Items {
			all = append(all, one.Message)
		}
		if l.Cursor = page.Next; l.Cursor == "" {
			return strings.Join(all, " ")
		}
	}
}

// TestList_ServesSevenPatterns checks that the seven access patterns of a log of device states work
// with pages of any length. The names and the order of the patterns are from a device log example
// in Amazon's developer guide for DynamoDB.
func TestList_ServesSevenPatterns(t *testing.T) {
	w := newWorld(t)
	at := func(day, hour int) time.Time { return time.Date(2020, 4, day, hour, 0, 0, 0, time.UTC) }
	for _, l := range []devicelog.Entry{
		{Device: "d1", Time: at(11, 5), State: "NORMAL", Message: "a", Operator: "Liz"},
		{Device: "d1", Time: at(11, 6), State: "WARNING1", Message: "b", Operator: "Liz"},
		{Device: "d1", Time: at(11, 6), State: "WARNING1", Message: "c", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d1", Time: at(24, 14), State: "WARNING4", Message: "d", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(24, 15), State: "WARNING4", Message: "e", Operator: "Tom", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(27, 1), State: "WARNING4", Message: "f", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(28, 1), State: "WARNING1", Message: "g", EscalatedTo: "Sara/x"},
	} {
		if got := w.log(l); got != varve.Stored { // access pattern 1: createLogEntryForSpecificDevice
			t.Errorf("%s: %s", l.Message, got)
		}
	}
	during := func(text string) varve.Window {
		win, err := timefmt.ParseWindow(text)
		must(t, err)
		return win
	}
	for _, c := range []struct {
		pattern, want string
		l             devicelog.Query
	}{
		{"2: getLogsForSpecificDevice, the newest first over all states", "d c b a", devicelog.Query{Device: "d1"}},
		{"2, the oldest first", "a b c d", devicelog.Query{Device: "d1", Order: varve.Ascending}},
		{"3: getWarningLogsForSpecificDevice", "c b", devicelog.Query{Device: "d1", State: "WARNING1"}},
		{"3, of a state that begins alike", "", devicelog.Query{Device: "d1", State: "WARNING"}},
		{"4: getLogsForOperatorBetweenTwoDates", "d c b", devicelog.Query{Operator: "Liz", Window: varve.Window{From: at(11, 6), To: at(27, 1)}}},
		{"5: getEscalatedLogsForSupervisor", "f e d c", devicelog.Query{Supervisor: "Sara"}},
		{"6: getEscalatedLogsWithSpecificStatusForSupervisor", "f e d", devicelog.Query{Supervisor: "Sara", State: "WARNING4"}},
		{"7: getEscalatedLogsWithSpecificStatusForSupervisorForDate", "e d", devicelog.Query{Supervisor: "Sara", State: "WARNING4", Window: during("2020-04-24")}},
		{"7, for an hour", "e", devicelog.Query{Supervisor: "Sara", State: "WARNING4", Window: during("2020-04-24T15")}},
		{"5, for a month", "f e d c", devicelog.Query{Supervisor: "Sara", Window: during("2020-04")}},
		{"an empty window", "", devicelog.Query{Device: "d1", Window: varve.Window{From: at(11, 6), To: at(11, 6)}}},
	} {
		if c.l.Order == varve.Ascending && !strings.Contains(c.pattern, "oldest") {
			c.l.Order = varve.Descending
		}
		for _, limit := range []int{1, 2, 3, 0} {
			c.l.Limit = limit
			// b and c have the same time: either may be first.
			if got := w.messages(c.l); got != c.want && got != strings.Replace(c.want, "c b", "b c", 1) && got != strings.Replace(c.want, "b c", "c b", 1) {
				t.Errorf("%s, pages of %d: %q, want %q", c.pattern, limit, got, c.want)
			}
		}
	}
}

// TestAdd_IdentifiesEntries checks that two entries of the same time are both stored. A resent
// entry must be a duplicate, and the first content and arrival must stay. After a crash between the
// two items of an entry, the resent entry must complete it.
func TestAdd_IdentifiesEntries(t *testing.T) {
	w := newWorld(t)
	l := devicelog.Entry{Device: "d", Time: noon, State: "WARNING", Message: "a", Operator: "Liz", EscalatedTo: "Sara"}
	w.items.FailWrites(registrytest.FailOn("LOG_STATE#"))
	l.Tenant = tenant
	if _, _, err := w.Add(t.Context(), l); err == nil {
		t.Fatal("acknowledged, but not written")
	}
	w.items.FailWrites(nil)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("resent after a crash: %s", got)
	}
	w.advance(time.Minute)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("resent: %s", got)
	}
	other := l
	other.Message = "b"
	if got := w.log(other); got != varve.Stored {
		t.Errorf("another entry of that second: %s", got)
	}
	named, err := varve.ParseID("case-17")
	must(t, err)
	l.ID = named
	w.log(l)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("resent with its id: %s", got)
	}
	l.Message = "c"
	first, v, err := w.Add(t.Context(), l)
	must(t, err)
	if v.Outcome != varve.Rejected || v.Code != varve.CodeConflict || first.Message != "a" || first.ID != named || !first.Arrived.Equal(noon.Add(time.Minute)) {
		t.Errorf("%s %+v", v, first)
	}
	const fields = `"escalatedTo":"Sara","message":%q,"operator":"Liz","state":"WARNING"`
	want := fmt.Sprintf(`id "case-17" is stored with {`+fields+`} and was sent with {`+fields+`}: send another id`, "a", "c")
	if v.Message != want {
		t.Errorf("got %s, want %s", v.Message, want)
	}
	for _, list := range []devicelog.Query{{Device: "d"}, {Device: "d", State: "WARNING"}, {Operator: "Liz"}, {Supervisor: "Sara"}, {Supervisor: "Sara", State: "WARNING"}} {
		got := strings.Fields(w.messages(list))
		slices.Sort(got)
		if strings.Join(got, " ") != "a a b" {
			t.Errorf("%+v: %v", list, got)
		}
	}
}

// TestAdd_SetsRetention checks that entries expire after the retention of logs, from the later of
// their time and arrival.
func TestAdd_SetsRetention(t *testing.T) {
	w := newWorld(t, func(o *devicelog.Options) { o.Retention = day })
	w.log(devicelog.Entry{Device: "d", Time: noon.Add(-100 * day), State: "S", Message: "old"})
	w.log(devicelog.Entry{Device: "d", Time: noon.Add(time.Hour), State: "S", Message: "ahead"})
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{day - 1, "ahead old"}, {1, "ahead"}, {time.Hour - 1, "ahead"}, {1, ""}} {
		w.advance(c.after)
		if got := w.messages(devicelog.Query{Device: "d", Order: varve.Descending}); got != c.want {
			t.Errorf("at %s: %q, want %q", w.now(), got, c.want)
		}
	}
	forever := newWorld(t, func(o *devicelog.Options) { o.Retention = retention.Forever })
	forever.log(devicelog.Entry{Device: "d", Time: noon, State: "S", Message: "x"})
	forever.advance(100 * 365 * day)
	if got := forever.messages(devicelog.Query{Device: "d"}); got != "x" {
		t.Errorf("without a limit: %q", got)
	}
}

// TestAdd_KeepsListsEqualUnderFailures resends entries with one id and different states until each
// is acknowledged, while the store fails. Lists by state must never have an entry that other
// lists lack. Both kinds of lists must have every acknowledged entry, and must be equal in the end.
func TestAdd_KeepsListsEqualUnderFailures(t *testing.T) {
	id, err := varve.ParseID("case-17")
	must(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var left []devicelog.Entry
		for i := range rapid.IntRange(1, 10).Draw(rt, "n") {
			l := drawLog(rt, i)
			l.ID, l.Device, l.Time = id, "d", noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "at"))*time.Second)
			left = append(left, l)
		}
		fails := rapid.SliceOfN(rapid.Bool(), 20, 20).Draw(rt, "fails")
		w.items.FailWrites(func(store.Key) error {
			if len(fails) == 0 {
				return nil
			}
			now := fails[0]
			if fails = fails[1:]; now {
				return registrytest.ErrDisk
			}
			return nil
		})
		for len(left) > 0 {
			l := left[0]
			left = left[1:]
			got, v, err := w.Add(t.Context(), l)
			if err != nil {
				left = append(left, l)
			} else if (v.Code == varve.CodeConflict) != (got.Message != l.Message) || !w.lists(devicelog.Query{Device: "d", State: got.State}, got) {
				rt.Fatalf("%s: %+v of %+v", v, got, l)
			}
			for _, whole := range []devicelog.Query{{Device: "d"}, {Supervisor: "s"}, {Supervisor: "A#s"}} {
				w.conform(rt, whole, len(left) == 0)
			}
		}
	})
}

func (w *world) lists(list devicelog.Query, l devicelog.Entry) bool {
	list.Tenant, list.Window = tenant, varve.AllTime()
	page, err := w.List(w.t.Context(), list)
	must(w.t, err)
	return slices.Contains(page.Items, l)
}

// conform compares a list of entries with the lists of the same entries by state. Unless the
// argument "whole" is true, the lists by state may lack entries.
func (w *world) conform(rt *rapid.T, list devicelog.Query, whole bool) {
	list.Tenant, list.Window = tenant, varve.AllTime()
	page, err := w.List(w.t.Context(), list)
	must(w.t, err)
	for _, state := range []string{"A", "A-B", "B"} {
		list.State = state
		of, err := w.List(w.t.Context(), list)
		must(w.t, err)
		want := slices.DeleteFunc(slices.Clone(page.Items), func(l devicelog.Entry) bool {
			return l.State != state || !whole && !slices.Contains(of.Items, l)
		})
		if !slices.Equal(of.Items, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", list, of.Items, want)
		}
	}
}

func drawLog(t *rapid.T, i int) devicelog.Entry {
	return devicelog.Entry{
		Tenant: tenant, Device: rapid.SampledFrom([]string{"d", "d#1"}).Draw(t, "device"),
		Time:     noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "at")) * time.Second),
		State:    rapid.SampledFrom([]string{"A", "A-B", "B"}).Draw(t, "state"),
		Operator: rapid.SampledFrom([]string{"", "o", "o#"}).Draw(t, "operator"), EscalatedTo: rapid.SampledFrom([]string{"", "s", "A#s"}).Draw(t, "supervisor"),
		Message: fmt.Sprint("m", i),
	}
}

// TestList_SortsAndSelects checks that each list is the sorted selection of all entries, page by
// page, in any order of writes.
func TestList_SortsAndSelects(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var all []devicelog.Entry
		for i := range rapid.IntRange(0, 30).Draw(rt, "n") {
			l, v, err := w.Add(t.Context(), drawLog(rt, i))
			if err != nil || v.Outcome != varve.Stored {
				rt.Fatal(v, err)
			}
			all = append(all, l)
		}
		list := rapid.SampledFrom([]devicelog.Query{
			{Device: "d"}, {Device: "d#1"}, {Device: "d", State: "A"}, {Device: "d", State: "A-B"}, {Operator: "o"}, {Operator: "o#"},
			{Supervisor: "s"}, {Supervisor: "s", State: "A"}, {Supervisor: "A#s", State: "A"}, {Supervisor: "s", State: "B"},
			{Device: "d", State: "A*"}, {Device: "d#1", State: "A-*"}, {Supervisor: "s", State: "A*"},
		}).Draw(rt, "list")
		list.Tenant, list.Order = tenant, varve.Order(rapid.IntRange(0, 1).Draw(rt, "order"))
		list.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
		list.Window = varve.Window{From: noon.Add(-3 * time.Second), To: noon.Add(4 * time.Second)}
		var want []devicelog.Entry
		for _, l := range all {
			if list.Window.Contains(l.Time) && (list.Device == "" || list.Device == l.Device) && (list.Operator == "" || list.Operator == l.Operator) &&
				(list.Supervisor == "" || list.Supervisor == l.EscalatedTo) && selects(list.State, l.State) {
				want = append(want, l)
			}
		}
		var got []devicelog.Entry
		for {
			page, err := w.List(t.Context(), list)
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, page.Items...)
			list.Window = varve.Window{} // later pages need no window, because the cursor contains it
			if list.Cursor = page.Next; list.Cursor == "" {
				break
			}
		}
		byTime := func(a, b devicelog.Entry) int {
			if list.Order == varve.Descending {
				a, b = b, a
			}
			return a.Time.Compare(b.Time)
		}
		if !slices.IsSortedFunc(got, byTime) {
			rt.Fatalf("%+v: out of order: %+v", list, got)
		}
		byMessage := func(a, b devicelog.Entry) int { return strings.Compare(a.Message, b.Message) }
		slices.SortFunc(got, byMessage)
		slices.SortFunc(want, byMessage)
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", list, got, want)
		}
	})
}

// selects reports whether a list of one state, or of states such as WARNING*, includes a state.
func selects(list, state string) bool {
	if prefix, many := strings.CutSuffix(list, "*"); many {
		return strings.HasPrefix(state, prefix)
	}
	return list == "" || list == state
}

// TestLog_NamesInvalidParameter checks that errors about an entry or a list name the parameter.
func TestLog_NamesInvalidParameter(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	list, err := varve.JSONValue([]byte(`[1]`))
	must(t, err)
	for _, c := range []struct {
		l           devicelog.Entry
		param, says string
	}{
		{devicelog.Entry{Time: noon, State: "S"}, "device", "empty"},
		{devicelog.Entry{Device: "..", Time: noon, State: "S"}, "device", "relative path"},
		{devicelog.Entry{Device: "d", Time: noon, State: "S", Operator: "."}, "operator", "relative path"},
		{devicelog.Entry{Device: "d", State: "S"}, "time", "missing"},
		{devicelog.Entry{Device: "d", State: "S", Time: noon.Add(25 * time.Hour)}, "time", "ahead"},
		{devicelog.Entry{Device: "d", State: "S", Time: time.Unix(-1, 0)}, "time", "1970"},
		{devicelog.Entry{Device: "d", Time: noon}, "state", "empty"},
		{devicelog.Entry{Device: "d", Time: noon, State: "A#B"}, "state", "letters"},
		{devicelog.Entry{Device: "d", Time: noon, State: "S", Operator: " x"}, "operator", "operator \" x\" has space"},
		{devicelog.Entry{Device: "d", Time: noon, State: "S", EscalatedTo: strings.Repeat("x", 257)}, "escalated_to", "257"},
		{devicelog.Entry{Device: "d", Time: noon, State: "S", Message: strings.Repeat("x", 4097)}, "message", "4097"},
		{devicelog.Entry{Device: "d", Time: noon, State: "S", Attributes: list}, "attributes", "object"},
	} {
		c.l.Tenant = tenant
		_, _, err := w.Add(ctx, c.l)
		invalid(t, err, c.param, c.says)
	}
	for _, c := range []struct {
		l           devicelog.Query
		param, says string
	}{
		{devicelog.Query{}, "device", "empty"},
		{devicelog.Query{Device: "d", State: "#"}, "state", "letters"}, {devicelog.Query{Device: "d", State: "*"}, "state", "omit state for all"},
		{devicelog.Query{Supervisor: "d", State: "A*B*"}, "state", "letters"},
		{devicelog.Query{Operator: " x"}, "operator", "space"},
		{devicelog.Query{Supervisor: " x"}, "supervisor", "space"},
		{devicelog.Query{Device: "d", Limit: -1}, "limit", "1000"},
		{devicelog.Query{Device: "d", Window: varve.Window{From: noon, To: noon.Add(-1)}}, "to", "before it begins"},
		{devicelog.Query{Device: "d", Cursor: "x"}, "cursor", "not a cursor"},
	} {
		c.l.Tenant = tenant
		_, err := w.List(ctx, c.l)
		invalid(t, err, c.param, c.says)
	}
}
