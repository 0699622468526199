package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// varve runs the program as a client of the server, and returns its standard output.
func (w *world) varve(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "VARVE_SERVER="+w.URL)
	if w.key != "" {
		cmd.Env = append(cmd.Env, "VARVE_KEY="+w.key)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("varve %s: %v", strings.Join(args, " "), err)
	}
	return out
}

type table struct {
	Name     string
	From, To time.Time
	Month    string `json:"write_month"`
	State    string
	Readings int64
	Hold     string
}

// listTables returns the tables that varve tables list --all prints, by name.
func (w *world) listTables(t *testing.T) map[string]table {
	t.Helper()
	var list struct{ Tables []table }
	if err := json.Unmarshal(w.varve(t, "tables", "list", "--all", "-o", "json"), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]table{}
	for _, one := range list.Tables {
		all[one.Name] = one
	}
	return all
}

type action struct{ Action, Table string }

// planAt returns the sorted actions and the digest of the plan that varve tables plan --at prints.
func (w *world) planAt(t *testing.T, at string) (actions []string, digest string) {
	t.Helper()
	var plan struct {
		Actions []action
		Digest  string
	}
	if err := json.Unmarshal(w.varve(t, "tables", "plan", "--at", at, "-o", "json"), &plan); err != nil {
		t.Fatal(err)
	}
	for _, a := range plan.Actions {
		actions = append(actions, a.Action+" "+a.Table)
	}
	slices.Sort(actions)
	return actions, plan.Digest
}

// cells returns the number of readings of each table that the grid shows.
func (b *tab) cells() map[string]int64 {
	b.t.Helper()
	return evaluate[map[string]int64](b, `Object.fromEntries([...document.querySelectorAll("svg [data-table]")].map(c => [c.dataset.table, Number(c.dataset.readings)]))`)
}

// shownPlan returns the actions in the list of the plan, sorted.
func (b *tab) shownPlan() []string {
	b.t.Helper()
	actions := evaluate[[]string](b, `[...document.querySelectorAll("[data-act]")].map(a => a.dataset.act + " " + a.dataset.of)`)
	slices.Sort(actions)
	return actions
}

func (b *tab) waitGrid() {
	b.t.Helper()
	b.wait(`document.querySelector("svg [data-table]") && document.querySelector("[data-plan^='/v1']")`)
}

// TestGrid_HasCellsOfList compares the cells of the grid with varve tables list --all, for each
// range of event time. Then a late upload must change exactly one cell: the cell for its event time and
// this month.
func TestGrid_HasCellsOfList(t *testing.T) {
	w := newDemo(t)
	want := map[string]int64{}
	for name, one := range w.listTables(t) {
		want[name] = one.Readings
	}
	b := w.open(t, "/ui/tables", "")
	for _, span := range []string{"", "3m", "1y", "5y", "all"} {
		b.visit("/ui/tables?span=" + span)
		b.waitGrid()
		if got := b.cells(); !maps.Equal(got, want) || len(got) < 50 {
			t.Errorf("span %q: the grid has %d cells, the list %d", span, len(got), len(want))
		}
	}
	late := time.Now().Add(-47 * day)
	w.write(t, "weather", reading("offline", late, `"temperature":1`), reading("offline", late.Add(time.Second), `"temperature":2`))
	b.visit("/ui/tables")
	b.waitGrid()
	tables, month := w.listTables(t), time.Now().UTC().Format("2006-01")
	for name, readings := range b.cells() {
		one := tables[name]
		added := readings - want[name]
		if isCell := one.Month == month && !late.Before(one.From) && late.Before(one.To); isCell && added != 2 || !isCell && added != 0 {
			t.Errorf("%s has %d readings more", name, added)
		}
	}
}

// TestSlider_EqualsPlan moves the slider of the plan to 20 different days. For each day, it compares the list of
// actions and the marks in the grid with the output of varve tables plan --at.
func TestSlider_EqualsPlan(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui/tables", "")
	b.waitGrid()
	last := evaluate[int](b, `Number(document.querySelector("#at").max)`)
	if last < 60 {
		t.Fatalf("the slider ends after %d days", last)
	}
	kinds := map[string]bool{}
	for i := range 20 {
		days := 1 + i*(last-1)/19
		at := time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly)
		b.eval(fmt.Sprintf(`(s => { Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(s, %d); s.dispatchEvent(new Event("input", { bubbles: true })) })(document.querySelector("#at"))`, days))
		b.wait(fmt.Sprintf(`document.querySelector("[data-plan='/v1/tables/plan?at=%s']") && location.search.includes("at=%s")`, at, at))
		want, digest := w.planAt(t, at)
		if got := b.shownPlan(); !slices.Equal(got, want) {
			t.Errorf("%s: the page has %d actions, the plan %d", at, len(got), len(want))
		}
		if got := evaluate[string](b, `document.querySelector("[data-digest]").dataset.digest`); got != digest {
			t.Errorf("%s: digest %s, want %s", at, got, digest)
		}
		marks := evaluate[[]string](b, `[...document.querySelectorAll("svg [data-action]")].map(c => c.dataset.action + " " + (c.dataset.table || c.dataset.planned))`)
		if slices.Sort(marks); !slices.Equal(marks, want) {
			t.Errorf("%s: the grid marks %d tables, the plan has %d", at, len(marks), len(want))
		}
		for _, a := range want {
			kind, _, _ := strings.Cut(a, " ")
			kinds[kind] = true
		}
		if evaluate[bool](b, `!!document.querySelector("#apply")`) {
			t.Errorf("%s: a plan of another day can be applied", at)
		}
	}
	if !kinds["create"] || !kinds["retire"] {
		t.Errorf("the plans have only %v", kinds)
	}
}

// newDropWorld starts a Varve whose plan for the present time drops tables with readings. Its rotator
// runs only when a test asks for it.
func newDropWorld(t *testing.T) *world {
	t.Helper()
	w := newDemoWith(t, "--set", "retention.schedule=0 0 29 2 *")
	w.setClock(t, 20*day)
	w.must(t, http.MethodPost, "/v1/tables/apply", "")
	w.setClock(t, 28*day)
	return w
}

// TestApply_DropsShownTables applies a plan. A dialog must first name each table that will be dropped.
// Exactly these tables must be gone afterward.
func TestApply_DropsShownTables(t *testing.T) {
	w := newDropWorld(t)
	before := w.listTables(t)
	b := w.open(t, "/ui/tables", "")
	b.waitGrid()
	b.click("#apply")
	shown := evaluate[[]string](b, `[...document.querySelectorAll("dialog [data-drop]")].map(d => d.dataset.drop)`)
	var lost int64
	for _, name := range shown {
		lost += before[name].Readings
	}
	if len(shown) == 0 || lost == 0 {
		t.Fatalf("%d tables with %d readings are to be dropped", len(shown), lost)
	}
	count := evaluate[string](b, fmt.Sprintf(`(%d).toLocaleString("en")`, lost))
	if text := b.text("#losses"); !strings.Contains(text, count+" readings") {
		t.Errorf("the question does not name %s readings: %s", count, text)
	}
	if !evaluate[bool](b, `document.querySelector("#apply-now").disabled`) {
		t.Error("the plan can be applied before the readings were confirmed")
	}
	b.click("#sure")
	b.click("#apply-now:not(:disabled)")
	b.waitText("Applied:")
	after := w.listTables(t)
	for name := range before {
		_, exists := after[name]
		if exists == slices.Contains(shown, name) {
			t.Errorf("%s exists: %t, and the question named it: %t", name, exists, !exists)
		}
	}
	b.wait(`!document.querySelector("#apply")`)
}

// TestApply_RefusesChangedPlan changes the plan while the dialog is open. The server must then drop nothing.
func TestApply_RefusesChangedPlan(t *testing.T) {
	w := newDropWorld(t)
	before := w.listTables(t)
	b := w.open(t, "/ui/tables", "")
	b.allow("409")
	b.waitGrid()
	b.click("#apply")
	held := evaluate[string](b, `document.querySelector("dialog [data-drop]").dataset.drop`)
	w.must(t, http.MethodPut, "/v1/tables/"+held+"/hold", `{"reason":"audit"}`)
	b.click("#sure")
	b.click("#apply-now:not(:disabled)")
	b.waitText("Nothing was changed")
	if after := w.listTables(t); len(after) != len(before) {
		t.Errorf("%d tables exist, want %d", len(after), len(before))
	}
	b.press(kb.Escape)
	b.wait(`document.querySelector("[data-table='` + held + `'].held") && !document.querySelector("[data-of='` + held + `']")`)
}

// TestHold_AndRestore puts a retired table on hold, releases it, and restores it.
func TestHold_AndRestore(t *testing.T) {
	w := newDropWorld(t)
	var retired string
	for name, one := range w.listTables(t) {
		if one.State == "retired" && one.Readings > 0 {
			retired = name
		}
	}
	b := w.open(t, "/ui/tables?table="+retired, "")
	b.waitGrid()
	button := func(text string) string {
		return `[...document.querySelectorAll(".details button, dialog button")].find(b => b.textContent.startsWith("` + text + `"))`
	}
	press := func(text string) { t.Helper(); b.wait(button(text)); b.eval(button(text) + ".click()") }
	press("Hold")
	b.wait(`document.querySelector("dialog[open] #reason") === document.activeElement`)
	b.press("audit of 2026")
	b.press(kb.Enter)
	b.waitText("on hold: audit of 2026")
	if got := w.listTables(t)[retired].Hold; got != "audit of 2026" {
		t.Errorf("the hold is %q", got)
	}
	press("Release")
	b.wait(button("Hold"))
	if got := w.listTables(t)[retired].Hold; got != "" {
		t.Errorf("the hold is %q", got)
	}
	press("Restore")
	b.waitText("on hold: restored by hand")
	if got := w.listTables(t)[retired].State; got != "sealed" {
		t.Errorf("the table is %s", got)
	}
}
