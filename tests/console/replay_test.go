package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// arrivedBy returns a function that counts the readings that had arrived by the end of a day, for each table
// of an arrival month. It counts the changes of the streams, so it does not depend on the counts that
// tables report.
func (w *world) arrivedBy(t *testing.T, month time.Time) func(day string) map[string]int64 {
	t.Helper()
	type change struct{ Time, Arrived time.Time }
	var all []change
	for _, stream := range []string{"weather", "machines"} {
		for since := month.Format(time.RFC3339); since != ""; {
			var page struct {
				Readings []change
				Next     string
				More     bool
			}
			if err := json.Unmarshal(w.must(t, "GET", "/v1/streams/"+stream+"/arrivals?limit=1000&since="+since, ""), &page); err != nil {
				t.Fatal(err)
			}
			all = append(all, page.Readings...)
			if since = page.Next; !page.More {
				since = ""
			}
		}
	}
	tables := w.listTables(t)
	return func(day string) map[string]int64 {
		counts := map[string]int64{}
		for _, c := range all {
			if c.Arrived.Format(time.DateOnly) > day {
				continue
			}
			for name, one := range tables {
				if one.Month == month.Format("2006-01") && !c.Time.Before(one.From) && c.Time.Before(one.To) {
					counts[name]++
				}
			}
		}
		return counts
	}
}

// checkReplay compares the shown grid with the tables. In the replayed month, the grid must count only
// the readings that had arrived by the day.
func (b *tab) checkReplay(tables map[string]table, month, day string, arrived map[string]int64) {
	b.t.Helper()
	want := map[string]int64{}
	for name, one := range tables {
		switch {
		case one.Month < month:
			want[name] = one.Readings
		case one.Month == month:
			want[name] = arrived[name]
		default:
			want[name] = 0
		}
	}
	if got := b.cells(); !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				b.t.Errorf("%s, %s: the cell has %d readings, want %d", day, name, got[name], want[name])
			}
		}
	}
}

func (b *tab) waitDay(day string) {
	b.t.Helper()
	b.wait(`document.querySelector("#known")?.dataset.day === "` + day + `"`)
}

// TestReplay_ShowsArrivals steps through this month day by day, and compares each grid with the arrivals
// of all streams. On the last day, the counts must equal the counts of the tables.
func TestReplay_ShowsArrivals(t *testing.T) {
	w := sharedDemo(t)
	now := time.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	arrived, tables := w.arrivedBy(t, month), w.listTables(t)
	b := w.open(t, "/ui/tables?replay="+month.Format("2006-01"), "")
	seen := map[string]bool{}
	for at := month; !at.After(now); at = at.Add(day) {
		date := at.Format(time.DateOnly)
		b.waitDay(date)
		want := arrived(date)
		b.checkReplay(tables, month.Format("2006-01"), date, want)
		seen[fmt.Sprint(want)] = true
		if at.Add(day).After(now) {
			break
		}
		b.click(`[aria-label="Day after"]:not(:disabled)`)
	}
	if now.Day() > 12 && len(seen) < 2 {
		t.Errorf("all %d days look the same", now.Day())
	}
	last := map[string]int64{}
	for name, one := range tables {
		if one.Month == month.Format("2006-01") {
			last[name] = one.Readings
		}
	}
	b.checkReplay(tables, month.Format("2006-01"), "the last day", last)
	b.check()
}

// TestReplay_PlaysAndKeepsItsState plays the month before this one to its end, pauses, moves by
// keyboard, and reloads the page. The address must have the day and the speed.
func TestReplay_PlaysAndKeepsItsState(t *testing.T) {
	w := sharedDemo(t)
	now := time.Now().UTC()
	end := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	month, lastDay := end.AddDate(0, -1, 0).Format("2006-01"), end.AddDate(0, 0, -1).Format(time.DateOnly)
	tables, last := w.listTables(t), map[string]int64{}
	for name, one := range tables {
		if one.Month == month {
			last[name] = one.Readings
		}
	}
	b := w.open(t, "/ui/tables?speed=8", "")
	b.wait(`document.querySelector("#replay option[value='` + month + `']")`)
	b.eval(`(s => { s.value = "` + month + `"; s.dispatchEvent(new Event("change", { bubbles: true })) })(document.querySelector("#replay"))`)
	b.wait(`document.querySelector("#play")?.textContent === "Pause"`)
	b.waitDay(lastDay)
	b.wait(`document.querySelector("#play")?.textContent === "Play" && !/[?&]play=/.test(location.search) && location.search.includes("day=` + lastDay + `")`)
	b.checkReplay(tables, month, lastDay, last)

	b.eval(`document.querySelector("#player input[type=range]").focus()`)
	b.press(kb.Home)
	b.waitDay(month + "-01")
	b.press(kb.ArrowRight)
	b.waitDay(month + "-02")
	b.wait(`location.search.includes("day=` + month + `-02")`)
	b.visit(evaluate[string](b, "location.pathname + location.search"))
	b.waitDay(month + "-02")
	if got := evaluate[string](b, `document.querySelector("#speed").value`); got != "8" {
		t.Errorf("the speed is %q after a reload, want 8: %s", got, evaluate[string](b, `location.search + document.querySelector("#player").outerHTML`))
	}
	b.eval(`document.querySelector("#player input[type=range]").focus()`)
	b.press(" ")
	b.wait(`document.querySelector("#play").textContent === "Pause" && document.querySelector("#known").dataset.day > "` + month + `-03"`)
	b.press(" ")
	b.wait(`document.querySelector("#play").textContent === "Play" && !/[?&]play=/.test(location.search)`)
	paused := evaluate[string](b, `document.querySelector("#known").dataset.day`)
	if !strings.Contains(evaluate[string](b, "location.search"), "day="+paused) {
		t.Errorf("the address has not the day %s", paused)
	}
	b.check()
}
