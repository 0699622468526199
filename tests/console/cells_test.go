package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// cell is a cell of the grid, as the browser draws it.
type cell struct {
	Table, Class, Fill, Stroke, Dash, Label string
	X, W                                    float64
}

// drawnCells returns the cells of all tables by name, with their computed colors.
func (b *tab) drawnCells() map[string]cell {
	b.t.Helper()
	list := evaluate[[]cell](b, `[...document.querySelectorAll("svg [data-table]")].map(c => { const s = getComputedStyle(c);
		return { Table: c.dataset.table, Class: c.className.baseVal, Fill: s.fill, Stroke: s.stroke, Dash: s.strokeDasharray, Label: c.ariaLabel, X: +c.getAttribute("x"), W: +c.getAttribute("width") }; })`)
	all := map[string]cell{}
	for _, c := range list {
		all[c.Table] = c
	}
	return all
}

// legend returns the colors that the legend of the grid shows, by the name of their key.
func (b *tab) legend() map[string]string {
	b.t.Helper()
	return evaluate[map[string]string](b, `Object.fromEntries([...document.querySelectorAll(".legend .key")].map(k => { const s = getComputedStyle(k);
		return [k.className.split(" ").at(-1), k.classList.contains("outline") ? s.borderTopColor : s.backgroundColor]; }))`)
}

// TestGrid_DrawsStateAndReadings checks the color, the outline and the width of each cell against varve
// tables list --all.
func TestGrid_DrawsStateAndReadings(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui/tables?span=1y", "")
	b.waitGrid()
	tables, cells := w.listTables(t), b.drawnCells()
	legend := b.legend()
	most := 1.0
	for _, one := range tables {
		most = max(most, float64(one.Readings))
	}
	states, shades := map[string]int{}, map[string]int{}
	for name, one := range tables {
		c := cells[name]
		step := 0 // readings from most^((step-1)/5) on
		if n := float64(one.Readings); n > 0 {
			for step = 5; step > 1 && n < math.Pow(most, float64(step-1)/5)*(1-1e-9); step-- {
			}
		}
		if want := legend[fmt.Sprint("heat-", step)]; c.Fill != want {
			t.Errorf("%s with %d of at most %.0f readings is %s, want %s", name, one.Readings, most, c.Fill, want)
		}
		if c.Stroke != legend[one.State] || (c.Dash != "none") != (one.State == "ahead") {
			t.Errorf("%s is %s, and its outline is %s, dashes %s, want %s", name, one.State, c.Stroke, c.Dash, legend[one.State])
		}
		states[one.State]++
		shades[c.Fill]++
	}
	if len(states) < 3 || len(shades) < 4 {
		t.Errorf("the states are %v, the colors %v: the demo is of little use", states, shades)
	}
	checkWidths(t, tables, cells)
}

// checkWidths checks that the place and the width of cells are to scale. It skips the cells that begin
// before the left edge of the grid, because the grid cuts them.
func checkWidths(t *testing.T, tables map[string]table, cells map[string]cell) {
	t.Helper()
	edge := time.Now().Add(-364 * day)
	var names []string
	for name, one := range tables {
		if one.From.After(edge) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return tables[a].From.Compare(tables[b].From) })
	first, last := names[0], names[len(names)-1]
	scale := (cells[last].X - cells[first].X) / tables[last].From.Sub(tables[first].From).Hours()
	lengths := map[time.Duration]bool{}
	for _, name := range names {
		one, c := tables[name], cells[name]
		length := one.To.Sub(one.From)
		lengths[length] = true
		if x := cells[first].X + scale*one.From.Sub(tables[first].From).Hours(); math.Abs(x-c.X) > 0.5 {
			t.Errorf("%s begins at %.1f, want %.1f", name, c.X, x)
		}
		if width := max(3, scale*length.Hours()-2); math.Abs(width-c.W) > 0.5 { // cells are 2 pixels apart
			t.Errorf("%s is %.1f wide, want %.1f", name, c.W, width)
		}
	}
	if scale <= 0 || len(names) < 20 || len(lengths) < 2 {
		t.Errorf("%d cells of %d lengths, %.3f pixels an hour", len(names), len(lengths), scale)
	}
}

// TestGrid_DescribesCells points at cells of each state, and compares the details below the grid with the
// list of tables and its reasons.
func TestGrid_DescribesCells(t *testing.T) {
	w := sharedDemo(t)
	var list struct {
		Tables []struct {
			Name, State, Why      string
			Readings, Bytes       int64
			Seals, Retires, Drops *time.Time
		}
	}
	if err := json.Unmarshal(w.varve(t, "tables", "list", "--all", "-o", "json"), &list); err != nil {
		t.Fatal(err)
	}
	b := w.open(t, "/ui/tables", "")
	b.waitGrid()
	minute := func(at *time.Time, missing string) string {
		if at == nil {
			return missing
		}
		return at.UTC().Format("2006-01-02 15:04")
	}
	described, drops := map[string]int{}, 0
	for _, one := range list.Tables {
		kind := fmt.Sprint(one.State, one.Readings > 0)
		if described[kind]++; described[kind] > 3 {
			continue
		}
		b.eval(`document.querySelector("[data-table='` + one.Name + `']").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }))`)
		b.wait(`document.querySelector("[data-details='` + one.Name + `']")`)
		got := b.facts()
		want := map[string]string{"Table": one.Name, "Readings": fmt.Sprint(one.Readings), "Size": got["Size"], "Retired": minute(one.Retires, "never"), "Dropped": minute(one.Drops, "never")}
		if one.Seals != nil {
			want["Sealed"] = minute(one.Seals, "")
		}
		got["Readings"] = strings.ReplaceAll(got["Readings"], ",", "")
		if !maps.Equal(got, want) {
			t.Errorf("the details are %q, want %q", got, want)
		}
		if size := bytesOf(t, got["Size"]); math.Abs(size-float64(one.Bytes)) > 0.06*float64(one.Bytes) {
			t.Errorf("%s has %s, want %d bytes", one.Name, got["Size"], one.Bytes)
		}
		if text := b.text(".details"); one.Why == "" || !strings.Contains(text, one.Why) || !strings.Contains(text, one.State) {
			t.Errorf("%s is %s, because %q; the page shows %q", one.Name, one.State, one.Why, text)
		}
		if one.Drops != nil {
			drops++
		}
	}
	if len(described) < 4 || drops == 0 {
		t.Errorf("cells of %v were described, %d with a drop", described, drops)
	}
}

// TestSlider_ForetellsStates records the states that the grid shows for later days. Then the clock
// advances day by day, and the rotator runs once a day. On the recorded days, the states must be as
// recorded, except for tables near a scheduled change.
func TestSlider_ForetellsStates(t *testing.T) {
	w := newDemoWith(t, "--set", "retention.schedule=0 0 29 2 *")
	w.must(t, http.MethodPost, "/v1/tables/apply", "")
	b := w.open(t, "/ui/tables", "")
	b.waitGrid()
	today := time.Now().UTC().Truncate(day)
	ahead := []int{4, 20, 36, 52, 68}
	shown := map[int]map[string]cell{}
	for _, days := range ahead {
		b.visit("/ui/tables?at=" + today.AddDate(0, 0, days).Format(time.DateOnly))
		b.waitGrid()
		shown[days] = b.drawnCells()
	}
	before, gone, changed := w.schedules(t), 0, 0
	for days := 1; days <= ahead[len(ahead)-1]; days++ {
		at := today.AddDate(0, 0, days).Add(time.Minute)
		w.setClock(t, time.Until(at))
		w.must(t, http.MethodPost, "/v1/tables/apply", "")
		if shown[days] == nil {
			continue
		}
		now := w.listTables(t)
		for name, c := range shown[days] {
			if before[name].changesNear(at) {
				continue // the rotator runs once a day here, and the schedule is to the minute
			}
			classes := strings.Fields(c.Class)
			one, exists := now[name]
			if slices.Contains(classes, "gone") == exists {
				t.Errorf("in %d days: %s exists: %t, and the grid shows %q", days, name, exists, c.Class)
			}
			if !exists {
				gone++
			} else if !slices.Contains(classes, one.State) {
				t.Errorf("in %d days: %s is %s, and the grid shows %q", days, name, one.State, c.Class)
			}
			if exists && one.State != before[name].State {
				changed++
			}
		}
	}
	if gone == 0 || changed == 0 {
		t.Errorf("%d tables are gone and %d have another state: the days are of little use", gone, changed)
	}
}

// schedule has the times at which the state of a table changes.
type schedule struct {
	State                 string
	Month                 string `json:"write_month"`
	Seals, Retires, Drops time.Time
}

// changesNear reports whether the state of a table changes within two days of a time.
func (s schedule) changesNear(at time.Time) bool {
	begin, _ := time.Parse("2006-01", s.Month) // an invalid month is the zero time, and thus not near any other time
	return slices.ContainsFunc([]time.Time{begin, s.Seals, s.Retires, s.Drops}, func(c time.Time) bool { return at.Sub(c).Abs() < 2*day })
}

func (w *world) schedules(t *testing.T) map[string]schedule {
	t.Helper()
	var list struct {
		Tables []struct {
			Name string
			schedule
		}
	}
	w.get(t, "/v1/tables", &list)
	all := map[string]schedule{}
	for _, one := range list.Tables {
		all[one.Name] = one.schedule
	}
	return all
}
