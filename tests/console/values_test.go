package console

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// facts returns the names and values of the lists of facts on the page.
func (b *tab) facts() map[string]string {
	b.t.Helper()
	return evaluate[map[string]string](b, `Object.fromEntries([...document.querySelectorAll(".facts > div")].map(f => [f.children[0].innerText, f.children[1].innerText]))`)
}

// spanText writes seconds in their largest unit, as the console should.
func spanText(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"year", 365 * 86400}, {"day", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}} {
		if n := math.Floor(seconds/u.size + 0.5); math.Abs(seconds) >= u.size {
			if n != 1 && len(u.name) > 2 && u.name != "min" {
				u.name += "s"
			}
			return fmt.Sprint(n, " ", u.name)
		}
	}
	return fmt.Sprint(math.Floor(seconds*1000+0.5), " ms")
}

// bytesOf parses a size such as 1.2 MB.
func bytesOf(t *testing.T, text string) float64 {
	t.Helper()
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	power := slices.Index([]string{"B", "kB", "MB", "GB", "TB", "PB"}, unit)
	if err != nil || power < 0 {
		t.Fatalf("%q is not a size", text)
	}
	return n * math.Pow(1000, float64(power))
}

// gauge returns a metric without labels.
func (w *world) gauge(t *testing.T, name string) float64 {
	t.Helper()
	_, text := w.send(t, "GET", "/metrics", "")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("/metrics lacks %s", name)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNow_ShowsServersValues compares the facts of the page Now with the answers of /readyz and /metrics.
func TestNow_ShowsServersValues(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui", "")
	b.waitText("Size of all tables")
	for strings.Contains(b.facts()["Size of all tables"], "measuring") { // the server measures in the background
		b.visit("/ui")
		b.waitText("Size of all tables")
	}
	var ready struct {
		Ahead        int       `json:"tables_ready_ahead"`
		Needed       int       `json:"tables_needed_ahead"`
		LastRotation time.Time `json:"last_rotation"`
	}
	w.get(t, "/readyz", &ready)
	shown := b.facts()
	if want := fmt.Sprintf("%d of %d ready", ready.Ahead, ready.Needed); shown["Next month's tables"] != want || ready.Ahead == 0 || ready.Ahead < ready.Needed {
		t.Errorf("next month's tables are %q, want %q", shown["Next month's tables"], want)
	}
	at := evaluate[string](b, `[...document.querySelectorAll(".facts > div")].find(f => f.innerText.startsWith("Last run of the rotator")).querySelector("time").dateTime`)
	if run, err := time.Parse(time.RFC3339, at); err != nil || !run.Equal(ready.LastRotation) || shown["Last run of the rotator"] == "" {
		t.Errorf("the last run of the rotator is at %q, want %s: %v", at, ready.LastRotation, err)
	}
	for name, metric := range map[string]string{"Size of all tables": "varve_stored_bytes", "Free disk space": "varve_disk_free_bytes"} {
		got, want := bytesOf(t, shown[name]), w.gauge(t, metric)
		if math.Abs(got-want) > 0.1*want { // other programs use the disk, too
			t.Errorf("%s is %s, and the server reports %.0f bytes", name, shown[name], want)
		}
	}
	if got, want := shown["Hours waiting for roll-ups"], fmt.Sprint(w.gauge(t, "varve_rollups_backlog")); strings.ReplaceAll(got, ",", "") != want {
		t.Errorf("%s hours wait for roll-ups, want %s", got, want)
	}
	checkLag(b)
}

// checkLag compares the histogram of the lag with GET /v1/arrivals, number by number.
func checkLag(b *tab) {
	t := b.t
	t.Helper()
	b.waitText("Lag by stream")
	var arrivals struct {
		Bounds  []float64
		Streams []struct {
			Stream string
			Stored int64
			Lag    []int64
		}
	}
	b.server.get(t, "/v1/arrivals", &arrivals)
	heads := make([]string, len(arrivals.Bounds)+1)
	for i, bound := range arrivals.Bounds {
		heads[i] = "< " + spanText(bound)
	}
	heads[0], heads[len(heads)-1] = "early", "≥ "+spanText(arrivals.Bounds[len(arrivals.Bounds)-1])
	compact := func(n int64) string {
		return evaluate[string](b, fmt.Sprintf(`new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(%d)`, n))
	}
	var want []string
	late := 0
	for _, s := range arrivals.Streams {
		if s.Stored == 0 {
			continue
		}
		for i, n := range s.Lag {
			isLate := i > 0 && arrivals.Bounds[i-1] >= 600
			if n > 0 {
				want = append(want, fmt.Sprintf("%s %s: %s late=%t", s.Stream, heads[i], compact(n), isLate))
			}
			if n > 0 && isLate {
				late++
			}
		}
	}
	got := evaluate[[]string](b, `(() => { const heads = [...document.querySelectorAll(".lag thead th")].slice(1).map(h => h.innerText);
		return [...document.querySelectorAll(".lag tbody tr")].flatMap(r => [...r.cells].slice(1).map((c, i) => [c, i]).filter(([c]) => c.querySelector("i"))
			.map(([c, i]) => r.cells[0].innerText.split("\n")[0] + " " + heads[i] + ": " + c.querySelector("b").innerText + " late=" + !!c.querySelector(".late"))); })()`)
	if !slices.Equal(got, want) || len(want) < 6 || late == 0 {
		t.Errorf("the histogram has\n%q\nthe server reports\n%q", got, want)
	}
}

// TestDevices_ShowServersValues compares the completeness and the lag in the list of devices with GET
// /v1/device-health.
func TestDevices_ShowServersValues(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui/devices", "")
	seen := map[string]bool{}
	for _, window := range []string{"", "30d"} {
		b.visit("/ui/devices?window=" + window)
		b.waitText("devices")
		b.settle()
		var health struct {
			Devices []struct {
				Device       string
				Completeness *float64
				HoursDue     int      `json:"hours_due"`
				Lag          *float64 `json:"lag_seconds"`
			}
		}
		w.get(t, "/v1/device-health?window="+window, &health)
		var want []string
		for _, d := range health.Devices {
			lag, share := "", "new"
			if d.Lag != nil {
				lag = spanText(*d.Lag)
			}
			if d.HoursDue > 0 {
				share = fmt.Sprintf("%.0f %%", math.Floor(*d.Completeness*100))
			}
			seen[share] = true
			want = append(want, d.Device+": "+lag+", "+share)
		}
		got := evaluate[[]string](b, `(() => { const at = (name) => [...document.querySelectorAll("thead th")].findIndex(h => h.innerText.startsWith(name));
			return [...document.querySelectorAll("tbody tr")].map(r => r.querySelector("a").innerText + ": " + r.cells[at("Lag")].innerText.trim() + ", " + r.cells[at("Data in")].innerText.trim()); })()`)
		if !slices.Equal(got, want) || len(want) < 5 {
			t.Errorf("window %q: the list has\n%q\nthe server reports\n%q", window, got, want)
		}
	}
	if len(seen) < 3 {
		t.Errorf("all devices have the same completeness: %v", seen)
	}
}
