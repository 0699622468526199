package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// paint is a script that returns a picture of the chart. The column of any time follows from the columns
// of the first two readings, X0 and X1.
const paint = `(() => {
	const p = document.querySelector(".plot"), c = p.querySelector("canvas"), dpr = devicePixelRatio, d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	const hex = (i) => "#" + [0, 1, 2].map(k => d[4 * i + k].toString(16).padStart(2, "0")).join("");
	const row = (y) => Array.from({ length: c.width }, (_, x) => d[4 * (y * c.width + x) + 3] === 255 ? hex(y * c.width + x) : "");
	const [x0] = p.plot.place(0, 0), [x1] = p.plot.place(0, 1);
	return { rows: Array.from({ length: c.height }, (_, y) => row(y)), x0: x0 * dpr, x1: x1 * dpr };
})()`

// picture is a chart: the color of each opaque pixel by row and column.
type picture struct {
	Rows   [][]string
	X0, X1 float64 // columns of the first two readings
}

// columnsWith returns the columns at which the pixels of a row have the given color.
func (p *picture) columnsWith(row int, color string) (list []int) {
	for x, c := range p.Rows[row] {
		if c == color {
			list = append(list, x)
		}
	}
	return list
}

// markColor returns the color of a class of lateness in the legend, as #rrggbb.
func (b *tab) markColor(class int) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(`"#" + getComputedStyle(document.querySelector("[data-late='%d'] svg")).fill.match(/\d+/g).map(n => (+n).toString(16).padStart(2, "0")).join("")`, class))
}

// TestDevice_DrawsAlertsAndArrivals checks the bar of an alert at the top of the chart, and the marks of
// arrivals at the bottom, pixel by pixel.
func TestDevice_DrawsAlertsAndArrivals(t *testing.T) {
	w := &world{dir: t.TempDir()}
	w.setClock(t, -2*time.Hour)
	w.start(t)
	w.must(t, http.MethodPost, "/v1/alert-rules", `{"id":"hot","stream":"weather","field":"temperature","comparison":">","threshold":90,"severity":"critical"}`)
	begin := time.Now().Add(-5 * time.Hour).Truncate(time.Minute)
	var lines []string
	for i := range 16 { // a reading every 10 minutes; three of them are hot
		value := 20
		if i >= 3 && i < 6 {
			value = 99
		}
		lines = append(lines, reading("oven", begin.Add(time.Duration(i)*10*time.Minute), fmt.Sprintf(`"temperature":%d`, value)))
	}
	w.write(t, "weather", lines...)
	w.setClock(t, -time.Hour)
	w.write(t, "weather", reading("oven", begin.Add(3*time.Hour+5*time.Minute), `"temperature":21`))
	b := w.open(t, "/ui/device/oven?from=-6h&fields=temperature", "")
	b.waitChart("readings")
	var alerts struct {
		Alerts []struct {
			Since    time.Time
			Resolved *time.Time `json:"resolved_at"`
		}
	}
	w.get(t, "/v1/devices/oven/alerts", &alerts)
	var columns struct{ Time, Arrived []time.Time }
	w.get(t, "/v1/streams/weather/devices/oven/readings?format=columns", &columns)
	if len(alerts.Alerts) != 1 || alerts.Alerts[0].Resolved == nil || len(columns.Time) != 17 {
		t.Fatalf("%+v, %d readings", alerts, len(columns.Time))
	}
	p := evaluate[picture](b, paint)
	column := func(at time.Time) int {
		return int(p.X0 + (p.X1-p.X0)*float64(at.Sub(columns.Time[0]))/float64(columns.Time[1].Sub(columns.Time[0])))
	}
	bad := b.markColor(2) // days late has the color of a critical alert
	bar := slices.IndexFunc(p.Rows, func(row []string) bool { return slices.Contains(row, bad) })
	if bar < 0 {
		t.Fatal("no bar of an alert is drawn")
	}
	got := p.columnsWith(bar+1, bad)
	from, to := column(alerts.Alerts[0].Since), column(*alerts.Alerts[0].Resolved)
	if len(got) == 0 || abs(got[0]-from) > 2 || abs(got[len(got)-1]-to) > 2 || abs(len(got)-(to-from)) > 3 {
		t.Errorf("the bar of the alert covers columns %v, want %d to %d", got, from, to)
	}
	warn := b.markColor(1)
	bottom := len(p.Rows) - 1
	for ; bottom > 0 && len(p.columnsWith(bottom, warn)) == 0; bottom-- {
	}
	var want []int
	for i, at := range columns.Arrived {
		if x := column(at); at.Sub(columns.Time[i]) >= time.Hour && !slices.Contains(want, x) {
			want = append(want, x)
		}
	}
	marks := p.columnsWith(bottom, warn)
	if len(want) == 0 || len(marks) != len(want) || abs(marks[0]-want[0]) > 2 || abs(marks[len(marks)-1]-want[len(want)-1]) > 2 {
		t.Errorf("arrivals of late readings are marked at columns %v, want %v", marks, want)
	}
}

func abs(n int) int { return max(n, -n) }

// TestDevice_ShowsSeveralDevices draws two fields of two devices in one chart. Below it, the cost and the
// tables of the window must equal the server's explanation.
func TestDevice_ShowsSeveralDevices(t *testing.T) {
	w := newWorld(t)
	w.write(t, "weather", live(time.Now(), "roof", 20)...)
	w.write(t, "weather", live(time.Now(), "hall", 7)...)
	b := w.open(t, "/ui/device/roof?from=-48h&with=hall&fields=temperature,humidity&list=1", "")
	b.waitChart("readings")
	lines := evaluate[[]string](b, `[...document.querySelectorAll(".series > span:not(.late)")].map(s => s.innerText.trim())`)
	if want := []string{"roof temperature", "roof humidity", "hall temperature", "hall humidity"}; !slices.Equal(lines, want) {
		t.Errorf("the lines are %q, want %q", lines, want)
	}
	inks := evaluate[[]string](b, `[...document.querySelectorAll(".series .swatch")].map(s => getComputedStyle(s).backgroundColor)`)
	if slices.Sort(inks); len(slices.Compact(inks)) != 4 {
		t.Errorf("the colors are %q", inks)
	}
	if n := b.number(".plot", "data-points"); n != 2*(20+7) {
		t.Errorf("%v values are drawn, want 54", n)
	}
	rows := evaluate[[]string](b, `[...document.querySelectorAll(".cards.facing .card.wide tbody tr")].map(r => r.cells[0].innerText.trim())`)
	if slices.Sort(rows); len(rows) != 27 || rows[6] != "hall" || rows[7] != "roof" {
		t.Errorf("the list has the devices %q", rows)
	}
	var plan struct {
		Requests int
		Tables   []struct{ Name, Action, Why string }
	}
	from := time.Now().Add(-48 * time.Hour).UTC().Format(time.RFC3339)
	w.get(t, "/v1/streams/weather/devices/roof/readings?explain=true&from="+from+"&to="+time.Now().UTC().Format(time.RFC3339), &plan)
	b.waitText("A read of the window")
	facts := b.facts()
	if facts["Source"] != "readings" || facts["Readings in the window"] != "about 27" || facts["Answered in"] == "" || !strings.HasPrefix(facts["A read of the window"], fmt.Sprintf("%d request", plan.Requests)) {
		t.Errorf("the cost is %q, and the server plans %d requests", facts, plan.Requests)
	}
	b.eval(`document.querySelector(".facing details").open = true`)
	got := evaluate[[]string](b, `[...document.querySelectorAll(".facing details tbody tr")].map(r => [...r.cells].map(c => c.innerText.trim()).join(" "))`)
	var want []string
	for _, one := range plan.Tables {
		want = append(want, one.Name+" "+one.Action+" "+one.Why)
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the tables are\n%q\nwant\n%q", got, want)
	}
}

// TestDevice_WorksWithoutRollups turns roll-ups off, and draws a week of a field as a band. The name of
// the field has a comma. One of the three devices has no readings. The others must be drawn and saved.
func TestDevice_WorksWithoutRollups(t *testing.T) {
	w := newWorld(t, "--set", "rollups.enabled=false")
	for _, device := range []string{"roof", "hall"} {
		var lines []string
		for i := range 9 {
			lines = append(lines, reading(device, time.Now().Add(-time.Duration(i+1)*time.Hour), fmt.Sprintf(`"temp, °C":%d,"level":1`, i)))
		}
		w.write(t, "weather", lines...)
	}
	b := w.open(t, "/ui", "")
	b.allow("404") // the device without readings
	b.allow("409") // roll-ups are off
	b.visit("/ui/device/roof?from=-7d&show=band&with=idle,hall&fields=" + url.QueryEscape("temp%2C °C"))
	b.waitChart("band")
	if got := b.facts()["Source"]; got != "readings, in steps of 1h" {
		t.Errorf("the source is %q", got)
	}
	if n := b.number(".plot", "data-points"); n < 2*9 {
		t.Errorf("%v buckets are drawn, want at least 9 for each of two devices", n)
	}
	b.eval(`(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = blob => (blob.text().then(t => saved.push(t)), make.call(URL, blob)); })()`)
	b.click(`.tools-row button:last-child`)
	b.wait(`window.saved.length === 2`)
	if text := evaluate[string](b, "saved.join()"); strings.Count(text, `"temp, °C"`) != 2*9 {
		t.Errorf("the files have\n%s", text)
	}
}
