package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDevice_AcceptsAnyName opens a chart of two devices and a field. Their names have characters with a
// meaning in addresses. The chart and its requests must have these names, and a click must explain a
// reading.
func TestDevice_AcceptsAnyName(t *testing.T) {
	const first, second = `pump,1~2 %41`, `hall,2`
	w := newWorld(t)
	at := time.Now().Add(-30 * time.Minute)
	w.write(t, "weather", reading(first, at, `"humidity%":40`), reading(second, at, `"humidity%":50`))
	b := w.open(t, "/ui/device/"+url.PathEscape(first)+"?from=-1h&fields=humidity%25", "")
	b.waitChart("readings")
	b.fill("#other", second)
	b.button("Add")
	b.wait(`document.querySelectorAll(".series > span:not(.late)").length === 2`)
	b.waitChart("readings")
	lines := evaluate[[]string](b, `[...document.querySelectorAll(".series > span:not(.late)")].map(s => s.innerText.trim())`)
	if want := []string{first + " humidity%", second + " humidity%"}; !slices.Equal(lines, want) {
		t.Errorf("the lines are %q, want %q", lines, want)
	}
	counted := evaluate[[]string](b, `performance.getEntriesByType("resource").map(e => new URL(e.name)).filter(u => u.pathname.endsWith("/counts")).at(-1).searchParams.getAll("device")`)
	if want := []string{first, second}; !slices.Equal(counted, want) {
		t.Errorf("readings of %q are counted, want %q", counted, want)
	}
	var stored struct{ ID []string }
	w.get(t, "/v1/streams/weather/devices/"+url.PathEscape(first)+"/readings?format=columns", &stored)
	b.clickPoint(0)
	b.wait(`document.querySelector("#why")?.innerText.includes(` + quoted(stored.ID[0]) + `)`)
	b.waitText("The reading is stored, and expires on")
	b.visit("/ui/device/%FF")
	b.waitText("No reading of this device is stored.")
}

// TestDevice_IsFoundAmongSimilarNames opens a device whose name is a part of 1,000 other names. The page
// must show its chart.
func TestDevice_IsFoundAmongSimilarNames(t *testing.T) {
	w := newWorld(t)
	at := time.Now().Add(-30 * time.Minute)
	lines := []string{reading("x", at, `"rain":1`)}
	for i := range 1000 {
		lines = append(lines, reading(fmt.Sprintf("0x%03d", i), at, `"rain":1`))
	}
	w.write(t, "weather", lines...)
	b := w.open(t, "/ui/device/x?from=-1h", "")
	b.waitChart("readings")
}

// TestDevice_DrawsLongTexts draws readings whose texts exceed the size of an answer in columns. All
// readings must be drawn.
func TestDevice_DrawsLongTexts(t *testing.T) {
	w := newWorld(t)
	at := time.Now().Add(-2 * time.Hour)
	text := strings.Repeat("x", 3000)
	for part := range 3 {
		var lines []string
		for i := range 1000 {
			lines = append(lines, reading("roof", at.Add(time.Duration(1000*part+i)*time.Second), fmt.Sprintf(`"rain":%d,"log":%q`, i, text)))
		}
		w.write(t, "weather", lines...)
	}
	b := w.open(t, "/ui/device/roof?from=-3h&fields=rain,log&show=readings", "")
	b.allow("400") // the browser logs the refused requests
	b.waitChart("readings")
	if n := b.number(".plot", "data-points"); n != 3000 {
		t.Errorf("%v readings are drawn, want 3000", n)
	}
}

// TestSearch_ShowsTypedText checks that a space at the end of a typed text stays, also when the page is drawn
// again.
func TestSearch_ShowsTypedText(t *testing.T) {
	w := newWorld(t)
	b := w.open(t, "/ui/devices", "")
	b.fill("#search", "north ")
	b.wait(`location.search.includes("search=north")`)
	b.settle()
	if text := evaluate[string](b, `document.querySelector("#search").value`); text != "north " {
		t.Errorf("the field has %q, want %q", text, "north ")
	}
	b.visit("/ui/devices?search=south")
	b.wait(`document.querySelector("#search")?.value === "south"`)
}

// hurried is a script that makes the timers of pages 100 times as fast, and delays each request.
const hurried = `(() => {
	const every = window.setInterval, send = window.fetch;
	window.setInterval = (call, ms) => every(call, ms / 100);
	window.fetch = async (...args) => {
		await new Promise((ready) => setTimeout(ready, 600));
		return send(...args);
	};
})()`

// TestLists_LoadSlowly opens a list whose next request is due before the previous one has ended. The list
// must appear nevertheless.
func TestLists_LoadSlowly(t *testing.T) {
	w := newWorld(t)
	b := w.open(t, "/ui/keys", "")
	b.waitText("No key exists yet.")
	b.eval(hurried)
	b.click(`a[href="/ui/alerts"]`)
	b.waitText("No alert is open.")
}

// TestRules_HaveTypedThreshold checks that the thresholds of rules have the digits that were typed.
func TestRules_HaveTypedThreshold(t *testing.T) {
	w := newWorld(t)
	w.write(t, "weather", reading("roof", time.Now(), `"rain":1`))
	b := w.open(t, "/ui/alerts", "")
	for typed, want := range map[string]string{"9007199254740993": `"threshold":9007199254740993,`, "0x1F": `"threshold":"0x1F",`, "true": `"threshold":true,`} {
		b.button("New rule")
		b.wait(`document.querySelector("#stream option[value=weather]")`)
		b.fill("#stream", "weather")
		b.fill("#field", "rain")
		b.fill("#comparison", "==")
		b.fill("#threshold", typed)
		b.fill("#id", "rule-"+typed)
		b.button("Save the rule")
		b.wait(`!document.querySelector("#threshold") && document.body.innerText.includes(` + quoted("rule-"+typed) + `)`)
		if _, text := w.send(t, "GET", "/v1/alert-rules", ""); !strings.Contains(string(text), want) {
			t.Errorf("typed %s, want %s in %s", typed, want, text)
		}
	}
}
