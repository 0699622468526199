package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// fill sets the value of a field of a form, and sends the events that follow a typed text.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.wait(`document.querySelector(` + quoted(selector) + `)`)
	b.eval(fmt.Sprintf(`(() => { const f = document.querySelector(%s); f.value = %s; for (const e of ["input", "change"]) f.dispatchEvent(new Event(e, { bubbles: true })); })()`, quoted(selector), quoted(text)))
}

// button clicks a button or link by its text.
func (b *tab) button(text string) {
	b.t.Helper()
	find := `[...document.querySelectorAll("main button, dialog button, main a")].find(e => e.innerText.trim() === ` + quoted(text) + `)`
	b.wait(find)
	b.eval(find + `.click()`)
}

// TestRules_OpenThePreviewedAlerts drafts a rule in the console. For the same readings, the saved rule
// must open the previewed alerts. Then the test acknowledges, mutes and resolves the alert
// of a second rule.
func TestRules_OpenThePreviewedAlerts(t *testing.T) {
	w := newWorld(t)
	noon := time.Now().UTC().Add(-12 * time.Hour).Truncate(day).Add(12 * time.Hour) // the last noon; the alerts of the evenings before it have been resolved
	lines := append(live(noon, "roof", 60), live(noon, "cellar", 30)...)
	lines = append(lines, reading("oven", time.Now().Add(-time.Minute), `"temperature":99`))
	w.write(t, "weather", lines...)
	b := w.open(t, "/ui/alerts", "")
	b.waitText("No alert is open.")
	b.button("New rule")
	b.wait(`document.querySelector("#stream option[value=weather]")`)
	b.fill("#stream", "weather")
	b.fill("#field", "temperature")
	b.fill("#threshold", "27")
	b.fill("#for", "1h")
	b.fill("#severity", "critical")
	b.fill("#id", "heat")
	b.wait(`document.querySelector("#preview")?.dataset.total > 0 && document.querySelector(".timeline rect.critical")`)
	drawn := evaluate[[]string](b, `[...document.querySelectorAll(".timeline rect")].map(r => r.querySelector("title").textContent.split(":")[0] + " " + r.dataset.since)`)
	slices.Sort(drawn)
	if at := evaluate[string](b, "location.search"); !strings.Contains(at, "temperature") {
		t.Errorf("the draft is not in the address %s", at)
	}
	b.button("Save the rule")
	b.wait(`!document.querySelector("#preview") && document.body.innerText.includes("temperature > 27 for 1h")`)
	w.write(t, "weather", lines...) // all are duplicates, and the new rule evaluates duplicates, too
	var opened struct {
		Alerts []struct{ Device, Since, Rule, ID string }
	}
	w.get(t, "/v1/alerts?limit=1000", &opened)
	var got []string
	for _, a := range opened.Alerts {
		got = append(got, a.Device+" "+a.Since)
	}
	// The temperature is highest in the evening. The 60 hours of roof have at least two evenings,
	// and the 30 hours of cellar have at least one.
	if slices.Sort(got); len(got) < 3 || !slices.Equal(got, drawn) {
		t.Errorf("opened\n%q\ndrawn\n%q", got, drawn)
	}
	w.must(t, http.MethodPost, "/v1/alert-rules", `{"id":"now","stream":"weather","field":"temperature","comparison":">","threshold":90,"severity":"warning"}`)
	w.write(t, "weather", lines[len(lines)-1])
	b.visit("/ui/alerts")
	b.waitText("temperature > 90")
	for _, step := range []struct{ button, shown string }{{"acknowledge", "acknowledged"}, {"mute", "muted until"}, {"resolve", "No alert is open."}} {
		b.button(step.button)
		b.waitText(step.shown)
	}
	b.click(`button[aria-label="delete heat"]`)
	b.button("Delete the rule")
	b.wait(`!document.querySelector('[aria-label="delete heat"]')`)
}

// TestRejects_AreReplayedAndDeleted replays three rejects with another time unit, and deletes a fourth
// one. The replayed readings must be stored.
func TestRejects_AreReplayedAndDeleted(t *testing.T) {
	w := newWorld(t)
	now := time.Now().Unix()
	send := func(line string) { w.send(t, http.MethodPost, "/v1/streams/weather/readings", line) }
	for i := range 3 {
		send(fmt.Sprintf(`{"device":"roof","time":%d,"fields":{"rain":%d}}`, now-int64(i), i))
	}
	send(`{"device":"cellar","fields":{"rain":1}}`)
	b := w.open(t, "/ui/rejects", "")
	b.waitText("4 rejects")
	if row := b.text("tbody tr"); !strings.HasPrefix(row, "time_unit") || !strings.Contains(row, "roof") || !strings.Contains(row, "3") {
		t.Errorf("the first group is %q", row)
	}
	b.button("time_unit")
	b.waitText("3 rejects")
	b.button("Replay all of these")
	b.button("Check")
	b.waitText("0 readings of 3 rejects can be stored, 3 cannot.")
	b.fill("#precision", "s")
	b.button("Check")
	b.waitText("3 readings of 3 rejects can be stored, 0 cannot.")
	b.button("Store 3 readings")
	b.waitText("3 readings stored, 0 stored before, 0 rejected again.")
	var stored struct{ Time []string }
	w.get(t, "/v1/streams/weather/devices/roof/readings?format=columns", &stored)
	if len(stored.Time) != 3 {
		t.Errorf("%d readings are stored, want 3", len(stored.Time))
	}
	b.visit("/ui/rejects")
	b.waitText("1 reject")
	b.button("delete")
	b.button("Delete the reject")
	b.waitText("Nothing was refused.")
}

// delayedList is a script that delays the next request for the list of keys until window.release is
// called.
const delayedList = `(() => {
	const send = window.fetch;
	window.fetch = async (path, options) => {
		if (path !== "/v1/keys" || options.method !== "GET") return send(path, options);
		await new Promise((ready) => { window.release = ready; });
		window.fetch = send;
		const answer = await send(path, options);
		window.answered = answer.status;
		return answer;
	};
})()`

// TestKeys_AreMadeAndRevoked makes the first key and another one in the console. The server refuses a request that
// was sent without a key and arrives after the first key was made. The page must still show the new key, because
// the console shows each key only once.
func TestKeys_AreMadeAndRevoked(t *testing.T) {
	w := newWorld(t)
	b := w.open(t, "/ui/keys", "")
	b.waitText("No key exists yet.")
	b.eval(delayedList)
	b.click(`a[href="/ui/tables"]`)
	b.waitText("Replay as it arrived")
	b.click(`a[href="/ui/keys"]`)
	b.fill("#name", "ops")
	b.button("Make the key")
	b.wait(`document.querySelector("#made code")?.innerText.startsWith("vk_")`)
	w.key = b.text("#made pre code")
	b.allow("401")
	b.eval(`window.release()`)
	b.wait(`window.answered === 401`)
	b.eval(`requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; }))`)
	b.wait(`window.drawn`)
	b.button("It is stored: continue with this key")
	b.waitText("Forget key")
	b.waitText("ops")
	b.fill("#name", "gateway 7")
	b.fill("#scopes", "write")
	b.fill("#days", "30")
	b.button("Make the key")
	b.waitText("The key is shown only once.")
	key := b.text("#made pre code")
	b.button("It is stored")
	b.wait(`!document.querySelector("#made")`)
	if page := b.text("body"); strings.Contains(page, key) {
		t.Error("the page shows the key after it is stored")
	}
	var list struct {
		Keys []struct{ ID, Name, State string }
	}
	w.get(t, "/v1/keys", &list)
	if len(list.Keys) != 2 || list.Keys[1].Name != "gateway 7" {
		t.Fatalf("keys %+v", list.Keys)
	}
	if row := b.text("tbody tr"); !strings.Contains(row, "ops") || !strings.Contains(row, "ago") && !strings.Contains(row, "now") {
		t.Errorf("the key in use is listed as %q", row)
	}
	b.click(`button[aria-label="revoke ` + list.Keys[1].ID + `"]`)
	b.button("Revoke the key")
	b.wait(`[...document.querySelectorAll("tbody tr")].some(r => r.innerText.includes("revoked"))`)
	mine := w.key
	w.key = key
	if status, _ := w.send(t, http.MethodGet, "/v1/streams", ""); status != http.StatusUnauthorized {
		t.Errorf("the revoked key gets %d", status)
	}
	w.key = mine
}

// TestSettings_ShowValueAndOrigin sets a limit with --set. The page must show its value, default and origin.
func TestSettings_ShowValueAndOrigin(t *testing.T) {
	w := newWorld(t, "--set", "limits.reads=77")
	b := w.open(t, "/ui/settings?search=limits.reads", "")
	b.waitText("1 setting")
	if row := b.text("tbody tr"); !strings.Contains(row, "77") || !strings.Contains(row, "512") || !strings.Contains(row, "--set") {
		t.Errorf("the setting is shown as %q", row)
	}
}

// TestTenants_SeeOnlyTheirOwn visits all pages with a tenant's read key. Nothing of another tenant may
// appear, and no action that the key does not allow.
func TestTenants_SeeOnlyTheirOwn(t *testing.T) {
	w := newWorld(t)
	const secret = "Zebra"
	admin := w.createKey(t, `{"scopes":["admin"]}`)
	acme := w.createKey(t, `{"tenant":"acme","scopes":["admin"]}`)
	read := w.createKey(t, `{"tenant":"acme","scopes":["read"]}`)
	for key, name := range map[string]string{admin: secret, acme: "roof"} {
		w.key = key
		w.must(t, http.MethodPost, "/v1/alert-rules", `{"id":"`+name+`","stream":"`+name+`","field":"temperature","comparison":">","threshold":5,"severity":"critical"}`)
		w.write(t, name, live(time.Now(), name, 10)...)
		w.send(t, http.MethodPost, "/v1/streams/"+name+"/readings", `{"device":"`+name+`","fields":{"`+name+`":1}}`)
	}
	w.key = admin
	b := w.open(t, "/ui", read)
	b.settle()
	if nav := b.text("nav"); strings.Contains(nav, "Keys") || strings.Contains(nav, "Settings") || strings.Contains(nav, "Tables") || !strings.Contains(nav, "Devices") {
		t.Errorf("the pages are %q", nav)
	}
	for _, path := range []string{"/ui", "/ui/tables", "/ui/devices", "/ui/device/roof", "/ui/device/" + secret, "/ui/alerts?state=all", "/ui/alerts?new=1", "/ui/rejects", "/ui/keys", "/ui/settings"} {
		b.visit(path)
		b.settle()
		shown := b.text("body")
		if path == "/ui/device/"+secret {
			shown = strings.ReplaceAll(shown, secret+"\n", "") // the page's title is the name from the address
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%s shows another tenant's %s:\n%s", path, secret, shown)
		}
		actions := evaluate[[]string](b, `[...document.querySelectorAll("main button:not(:disabled)")].map(e => e.innerText.trim())`)
		for _, one := range actions {
			if slices.ContainsFunc([]string{"resolve", "acknowledge", "mute", "delete", "replay", "revoke", "save", "apply", "hold", "make"}, func(word string) bool { return strings.Contains(strings.ToLower(one), word) }) {
				t.Errorf("%s offers %q to a read key", path, one)
			}
		}
	}
	b.visit("/ui/device/roof")
	b.waitChart("readings")
	b.allow("404") // the tenant has no device Zebra
	answer := evaluate[string](b, `fetch("/v1/settings", { headers: { Authorization: "Bearer " + sessionStorage.getItem("varve.key") } }).then(r => r.text())`)
	b.allow("403")
	if !json.Valid([]byte(answer)) || !strings.Contains(answer, "Forbidden") {
		t.Errorf("settings answer %s", answer)
	}
}

// TestPages_AreReachableByKeyboard presses Tab on each page more often than the page has controls. After
// that, every visible control must have had the focus.
func TestPages_AreReachableByKeyboard(t *testing.T) {
	w := newWorld(t)
	w.write(t, "weather", live(time.Now(), "roof", 10)...)
	w.send(t, http.MethodPost, "/v1/streams/weather/readings", `{"device":"roof"}`)
	b := w.open(t, "/ui", "")
	for _, path := range []string{"/ui/devices", "/ui/device/roof?list=1", "/ui/alerts?new=1", "/ui/rejects", "/ui/keys", "/ui/settings"} {
		b.visit(path)
		b.settle()
		b.eval(`(() => { window.reached = new Set(); document.activeElement.blur(); addEventListener("focusin", e => reached.add(e.target)); })()`)
		// A field for a time has several parts, and each part takes the focus.
		total := evaluate[int](b, `document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']").length + 7 * document.querySelectorAll("input[type^='date']").length`)
		for range total + 5 {
			b.press("\t")
		}
		left := evaluate[[]string](b, `[...document.querySelectorAll("a[href], button:not(:disabled), input, select, summary, .plot")].filter(e => e.checkVisibility() && !reached.has(e)).map(e => e.outerHTML.slice(0, 120))`)
		if len(left) > 0 {
			t.Errorf("%s: Tab does not reach %q", path, left)
		}
	}
	b.press("g")
	b.press("r")
	b.wait(`location.pathname === "/ui/rejects"`)
}
