package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fleet"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

func (w *world) log(l fleet.Log) varve.Outcome {
	w.t.Helper()
	l.Tenant = tenant
	_, v, err := w.AddLog(w.t.Context(), l)
	must(w.t, err)
	return v.Outcome
}

// messages reads a list to its end.
func (w *world) messages(l fleet.LogList) string {
	w.t.Helper()
	l.Tenant = tenant
	if l.Window == (varve.Window{}) {
		l.Window = varve.AllTime()
	}
	var all []string
	for {
		page, err := w.Logs(w.t.Context(), l)
		must(w.t, err)
		for _, one := range page.Items {
			all = append(all, one.Message)
		}
		if l.Cursor = page.Next; l.Cursor == "" {
			return strings.Join(all, " ")
		}
	}
}

// TestSevenPatterns: the access patterns of a log of device states, each in
// pages of any length.
func TestSevenPatterns(t *testing.T) {
	w := newWorld(t)
	at := func(day, hour int) time.Time { return time.Date(2020, 4, day, hour, 0, 0, 0, time.UTC) }
	for _, l := range []fleet.Log{
		{Device: "d1", Time: at(11, 5), State: "NORMAL", Message: "a", Operator: "Liz"},
		{Device: "d1", Time: at(11, 6), State: "WARNING1", Message: "b", Operator: "Liz"},
		{Device: "d1", Time: at(11, 6), State: "WARNING1", Message: "c", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d1", Time: at(24, 14), State: "WARNING4", Message: "d", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(24, 15), State: "WARNING4", Message: "e", Operator: "Tom", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(27, 1), State: "WARNING4", Message: "f", Operator: "Liz", EscalatedTo: "Sara"},
		{Device: "d2", Time: at(28, 1), State: "WARNING1", Message: "g", EscalatedTo: "Sara/x"},
	} {
		if got := w.log(l); got != varve.Stored { // 1: createLogEntryForSpecificDevice
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
		l             fleet.LogList
	}{
		{"2: getLogsForSpecificDevice, the newest first over all states", "d c b a", fleet.LogList{Device: "d1"}},
		{"2, the oldest first", "a b c d", fleet.LogList{Device: "d1", Order: varve.Ascending}},
		{"3: getWarningLogsForSpecificDevice", "c b", fleet.LogList{Device: "d1", State: "WARNING1"}},
		{"3, of a state that begins alike", "", fleet.LogList{Device: "d1", State: "WARNING"}},
		{"4: getLogsForOperatorBetweenTwoDates", "d c b", fleet.LogList{Operator: "Liz", Window: varve.Window{From: at(11, 6), To: at(27, 1)}}},
		{"5: getEscalatedLogsForSupervisor", "f e d c", fleet.LogList{Supervisor: "Sara"}},
		{"6: getEscalatedLogsWithSpecificStatusForSupervisor", "f e d", fleet.LogList{Supervisor: "Sara", State: "WARNING4"}},
		{"7: getEscalatedLogsWithSpecificStatusForSupervisorForDate", "e d", fleet.LogList{Supervisor: "Sara", State: "WARNING4", Window: during("2020-04-24")}},
		{"7, for an hour", "e", fleet.LogList{Supervisor: "Sara", State: "WARNING4", Window: during("2020-04-24T15")}},
		{"5, for a month", "f e d c", fleet.LogList{Supervisor: "Sara", Window: during("2020-04")}},
		{"an empty window", "", fleet.LogList{Device: "d1", Window: varve.Window{From: at(11, 6), To: at(11, 6)}}},
	} {
		if c.l.Order == varve.Ascending && !strings.Contains(c.pattern, "oldest") {
			c.l.Order = varve.Descending
		}
		for _, limit := range []int{1, 2, 3, 0} {
			c.l.Limit = limit
			// b and c are of one second: either may come first.
			if got := w.messages(c.l); got != c.want && got != strings.Replace(c.want, "c b", "b c", 1) && got != strings.Replace(c.want, "b c", "c b", 1) {
				t.Errorf("%s, pages of %d: %q, want %q", c.pattern, limit, got, c.want)
			}
		}
	}
}

// TestLogIdentity: entries of one second both live, an entry sent again is a
// duplicate that keeps its first content and arrival, and a crash between the
// two items of an entry is mended by sending it again.
func TestLogIdentity(t *testing.T) {
	w := newWorld(t)
	l := fleet.Log{Device: "d", Time: noon, State: "WARNING", Message: "a", Operator: "Liz", EscalatedTo: "Sara"}
	w.items.failing(failOn("LOG_STATE#"))
	l.Tenant = tenant
	if _, _, err := w.AddLog(t.Context(), l); err == nil {
		t.Fatal("not written, and acknowledged")
	}
	w.items.failing(nil)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("sent again after a crash: %s", got)
	}
	w.advance(time.Minute)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("sent again: %s", got)
	}
	other := l
	other.Message = "b"
	if got := w.log(other); got != varve.Stored {
		t.Errorf("another of that second: %s", got)
	}
	named, err := varve.ParseID("case-17")
	must(t, err)
	l.ID = named
	w.log(l)
	if got := w.log(l); got != varve.Duplicate {
		t.Errorf("sent again with its id: %s", got)
	}
	l.Message = "c"
	first, v, err := w.AddLog(t.Context(), l)
	must(t, err)
	if v.Outcome != varve.Rejected || v.Code != varve.CodeConflict || first.Message != "a" || first.ID != named || !first.Arrived.Equal(noon.Add(time.Minute)) {
		t.Errorf("%s %+v", v, first)
	}
	const fields = `"escalatedTo":"Sara","message":%q,"operator":"Liz","state":"WARNING"`
	want := fmt.Sprintf(`id "case-17" is stored with {`+fields+`} and was sent with {`+fields+`}: send another id`, "a", "c")
	if v.Message != want {
		t.Errorf("got %s, want %s", v.Message, want)
	}
	for _, list := range []fleet.LogList{{Device: "d"}, {Device: "d", State: "WARNING"}, {Operator: "Liz"}, {Supervisor: "Sara"}, {Supervisor: "Sara", State: "WARNING"}} {
		got := strings.Fields(w.messages(list))
		slices.Sort(got)
		if strings.Join(got, " ") != "a a b" {
			t.Errorf("%+v: %v", list, got)
		}
	}
}

// TestLogRetention: entries go after the retention of logs, counted from the
// later of their time and arrival.
func TestLogRetention(t *testing.T) {
	w := newWorld(t, func(o *fleet.Options) { o.LogRetention = day })
	w.log(fleet.Log{Device: "d", Time: noon.Add(-100 * day), State: "S", Message: "old"})
	w.log(fleet.Log{Device: "d", Time: noon.Add(time.Hour), State: "S", Message: "ahead"})
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{day - 1, "ahead old"}, {1, "ahead"}, {time.Hour - 1, "ahead"}, {1, ""}} {
		w.advance(c.after)
		if got := w.messages(fleet.LogList{Device: "d", Order: varve.Descending}); got != c.want {
			t.Errorf("at %s: %q, want %q", w.now(), got, c.want)
		}
	}
	forever := newWorld(t, func(o *fleet.Options) { o.LogRetention = retention.Forever })
	forever.log(fleet.Log{Device: "d", Time: noon, State: "S", Message: "x"})
	forever.advance(100 * 365 * day)
	if got := forever.messages(fleet.LogList{Device: "d"}); got != "x" {
		t.Errorf("for ever: %q", got)
	}
}

// TestLogConformance: several entries of one time and id, of different states,
// are sent until each is acknowledged, while the registry fails. At any moment,
// lists by state show what the others do, and nothing else; what is acknowledged
// is in both; and in the end they are the same.
func TestLogConformance(t *testing.T) {
	id, err := varve.ParseID("case-17")
	must(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var left []fleet.Log
		for i := range rapid.IntRange(1, 10).Draw(rt, "n") {
			l := drawLog(rt, i)
			l.ID, l.Device, l.Time = id, "d", noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "at"))*time.Second)
			left = append(left, l)
		}
		fails := rapid.SliceOfN(rapid.Bool(), 20, 20).Draw(rt, "fails")
		w.items.failing(func(store.Key) error {
			if len(fails) == 0 {
				return nil
			}
			now := fails[0]
			if fails = fails[1:]; now {
				return errDisk
			}
			return nil
		})
		for len(left) > 0 {
			l := left[0]
			left = left[1:]
			got, v, err := w.AddLog(t.Context(), l)
			if err != nil {
				left = append(left, l)
			} else if (v.Code == varve.CodeConflict) != (got.Message != l.Message) || !w.lists(fleet.LogList{Device: "d", State: got.State}, got) {
				rt.Fatalf("%s: %+v of %+v", v, got, l)
			}
			for _, whole := range []fleet.LogList{{Device: "d"}, {Supervisor: "s"}, {Supervisor: "A#s"}} {
				w.conform(rt, whole, len(left) == 0)
			}
		}
	})
}

// lists reports whether an entry is in a list.
func (w *world) lists(list fleet.LogList, l fleet.Log) bool {
	list.Tenant, list.Window = tenant, varve.AllTime()
	page, err := w.Logs(w.t.Context(), list)
	must(w.t, err)
	return slices.Contains(page.Items, l)
}

// conform compares a list with the lists of its states.
func (w *world) conform(rt *rapid.T, list fleet.LogList, whole bool) {
	list.Tenant, list.Window = tenant, varve.AllTime()
	page, err := w.Logs(w.t.Context(), list)
	must(w.t, err)
	for _, state := range []string{"A", "A-B", "B"} {
		list.State = state
		of, err := w.Logs(w.t.Context(), list)
		must(w.t, err)
		want := slices.DeleteFunc(slices.Clone(page.Items), func(l fleet.Log) bool {
			return l.State != state || !whole && !slices.Contains(of.Items, l)
		})
		if !slices.Equal(of.Items, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", list, of.Items, want)
		}
	}
}

func drawLog(t *rapid.T, i int) fleet.Log {
	return fleet.Log{
		Tenant: tenant, Device: rapid.SampledFrom([]string{"d", "d#1"}).Draw(t, "device"),
		Time:     noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "at")) * time.Second),
		State:    rapid.SampledFrom([]string{"A", "A-B", "B"}).Draw(t, "state"),
		Operator: rapid.SampledFrom([]string{"", "o", "o#"}).Draw(t, "operator"), EscalatedTo: rapid.SampledFrom([]string{"", "s", "A#s"}).Draw(t, "supervisor"),
		Message: fmt.Sprint("m", i),
	}
}

// TestLogLists: whatever is written in whatever order, each list is the sorted
// selection of it, page by page, whatever comes in between.
func TestLogLists(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var all []fleet.Log
		for i := range rapid.IntRange(0, 30).Draw(rt, "n") {
			l, v, err := w.AddLog(t.Context(), drawLog(rt, i))
			if err != nil || v.Outcome != varve.Stored {
				rt.Fatal(v, err)
			}
			all = append(all, l)
		}
		list := rapid.SampledFrom([]fleet.LogList{
			{Device: "d"}, {Device: "d#1"}, {Device: "d", State: "A"}, {Device: "d", State: "A-B"}, {Operator: "o"}, {Operator: "o#"},
			{Supervisor: "s"}, {Supervisor: "s", State: "A"}, {Supervisor: "A#s", State: "A"}, {Supervisor: "s", State: "B"},
		}).Draw(rt, "list")
		list.Tenant, list.Order = tenant, varve.Order(rapid.IntRange(0, 1).Draw(rt, "order"))
		list.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
		list.Window = varve.Window{From: noon.Add(-3 * time.Second), To: noon.Add(4 * time.Second)}
		var want []fleet.Log
		for _, l := range all {
			if list.Window.Contains(l.Time) && (list.Device == "" || list.Device == l.Device) && (list.Operator == "" || list.Operator == l.Operator) &&
				(list.Supervisor == "" || list.Supervisor == l.EscalatedTo) && (list.State == "" || list.State == l.State) {
				want = append(want, l)
			}
		}
		var got []fleet.Log
		for {
			page, err := w.Logs(t.Context(), list)
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, page.Items...)
			list.Window = varve.Window{} // the cursor has it
			if list.Cursor = page.Next; list.Cursor == "" {
				break
			}
		}
		byTime := func(a, b fleet.Log) int {
			if list.Order == varve.Descending {
				a, b = b, a
			}
			return a.Time.Compare(b.Time)
		}
		if !slices.IsSortedFunc(got, byTime) {
			rt.Fatalf("%+v: out of order: %+v", list, got)
		}
		byMessage := func(a, b fleet.Log) int { return strings.Compare(a.Message, b.Message) }
		slices.SortFunc(got, byMessage)
		slices.SortFunc(want, byMessage)
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", list, got, want)
		}
	})
}

// TestBadLogs: what is wrong with an entry or a list is told with the
// parameter's name.
func TestBadLogs(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	list, err := varve.JSONValue([]byte(`[1]`))
	must(t, err)
	for _, c := range []struct {
		l           fleet.Log
		param, says string
	}{
		{fleet.Log{Time: noon, State: "S"}, "device", "empty"},
		{fleet.Log{Device: "d", State: "S"}, "time", "missing"},
		{fleet.Log{Device: "d", State: "S", Time: noon.Add(25 * time.Hour)}, "time", "ahead"},
		{fleet.Log{Device: "d", State: "S", Time: time.Unix(-1, 0)}, "time", "1970"},
		{fleet.Log{Device: "d", Time: noon}, "state", "empty"},
		{fleet.Log{Device: "d", Time: noon, State: "A#B"}, "state", "letters"},
		{fleet.Log{Device: "d", Time: noon, State: "S", Operator: " x"}, "operator", "operator \" x\" has space"},
		{fleet.Log{Device: "d", Time: noon, State: "S", EscalatedTo: strings.Repeat("x", 257)}, "escalatedTo", "257"},
		{fleet.Log{Device: "d", Time: noon, State: "S", Message: strings.Repeat("x", 4097)}, "message", "4097"},
		{fleet.Log{Device: "d", Time: noon, State: "S", Attributes: list}, "attributes", "object"},
	} {
		c.l.Tenant = tenant
		_, _, err := w.AddLog(ctx, c.l)
		invalid(t, err, c.param, c.says)
	}
	for _, c := range []struct {
		l           fleet.LogList
		param, says string
	}{
		{fleet.LogList{}, "device", "empty"},
		{fleet.LogList{Device: "d", State: "#"}, "state", "letters"},
		{fleet.LogList{Operator: " x"}, "operator", "space"},
		{fleet.LogList{Supervisor: " x"}, "supervisor", "space"},
		{fleet.LogList{Device: "d", Limit: -1}, "limit", "1000"},
		{fleet.LogList{Device: "d", Window: varve.Window{From: noon, To: noon.Add(-1)}}, "to", "before it begins"},
		{fleet.LogList{Device: "d", Cursor: "x"}, "cursor", "not a cursor"},
	} {
		c.l.Tenant = tenant
		_, err := w.Logs(ctx, c.l)
		invalid(t, err, c.param, c.says)
	}
}
