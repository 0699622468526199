package console

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestKey_IsAskedForOnce opens the console of a server with keys. The server must refuse a wrong key. The
// tab must remember a valid key until a button removes it. The console must set no cookie.
func TestKey_IsAskedForOnce(t *testing.T) {
	w := newWorld(t)
	key := w.createKey(t, `{"scopes":["admin"]}`)
	b := w.open(t, "/ui/tables", "")
	b.allow("401")
	b.wait(`document.querySelector("#key") === document.activeElement`)
	b.checkAxe("prompt")
	b.press("vk_wrong" + kb.Enter)
	b.waitText("This key is not valid")
	b.wait(`document.querySelector("#key") === document.activeElement`)
	b.press(key + kb.Enter)
	b.waitGrid()
	b.visit("/ui/tables?span=1y") // loads the console again in the same tab
	b.waitGrid()
	type kept struct{ Cookie, Local, Address string }
	if got := evaluate[kept](b, `({Cookie: document.cookie, Local: JSON.stringify(localStorage), Address: location.href})`); got.Cookie != "" || strings.Contains(got.Local+got.Address, key) {
		t.Errorf("the key or a cookie is kept: %+v", got)
	}
	b.press("d") // changes the theme; localStorage then has the theme, and never the key
	b.wait(`document.documentElement.dataset.theme === "light" && localStorage.length === 1`)
	b.eval(`[...document.querySelectorAll("button")].find(b => b.textContent === "Forget key").click()`)
	b.wait(`document.querySelector("#key") && sessionStorage.length === 0`)
}

// TestTenant_SeesOnlyItsOwn opens the console with a read key of a tenant. The console must show nothing
// of another tenant, no tables, and no way to apply a plan.
func TestTenant_SeesOnlyItsOwn(t *testing.T) {
	w := newWorld(t)
	w.write(t, "secret", live(time.Now(), "hidden", 24)...)
	w.createKey(t, `{"scopes":["admin"]}`)
	own := w.createKey(t, `{"tenant":"acme","scopes":["write"]}`)
	key := w.createKey(t, `{"tenant":"acme","scopes":["read"]}`)
	operator := w.key
	w.key = own
	w.write(t, "greenhouse", live(time.Now(), "tomato", 24)...)
	w.key = operator
	b := w.open(t, "/ui", key)
	b.waitText("greenhouse")
	b.settle()
	var paths []string
	for _, p := range evaluate[[]string](b, `[...document.querySelectorAll("nav a")].map(a => a.pathname)`) {
		paths = append(paths, p)
		if p == "/ui/tables" {
			t.Error("the navigation has the tables")
		}
	}
	if !slices.Contains(paths, "/ui") {
		t.Errorf("the navigation has %v", paths)
	}
	for _, p := range append(paths, "/ui/tables", "/ui/settings") {
		b.visit(p)
		b.settle()
		if text := b.text("body"); strings.Contains(text, "secret") || strings.Contains(text, "hidden") {
			t.Errorf("%s shows another tenant: %s", p, text)
		}
		if evaluate[bool](b, `!!document.querySelector("#apply, svg [data-table]") || [...document.querySelectorAll("button")].some(b => /apply|hold/i.test(b.textContent))`) {
			t.Errorf("%s offers to change tables", p)
		}
	}
	b.visit("/ui/tables")
	b.waitText("Your key does not give access to this page.")
}

// TestStart_LeadsToFirstReading opens the console of a server without readings. The shown lines for
// curl and varve must work, and so must the form.
func TestStart_LeadsToFirstReading(t *testing.T) {
	for name, args := range map[string][]string{"open": nil, "keys": {"admin"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			key := ""
			for range args {
				key = w.createKey(t, `{"scopes":["admin"]}`)
			}
			b := w.open(t, "/ui", key)
			b.waitText("No reading has arrived yet")
			for l, look := range looks {
				b.setLook(look)
				b.settle()
				b.checkAxe(l)
				b.checkWidth(l)
			}
			for _, client := range []string{"curl", "varve", "telegraf", "mosquitto"} {
				b.visit("/ui?with=" + client)
				b.wait(`document.querySelector("pre")`)
				if text := b.text("pre"); !strings.Contains(text, strings.TrimPrefix(w.URL, "http://")) && client != "mosquitto" || strings.Contains(text, "vk_") {
					t.Errorf("%s: %s", client, text)
				}
			}
			b.visit("/ui?with=curl")
			b.wait(`document.querySelector("pre")`)
			w.paste(t, b.text("pre"), key)
			b.visit("/ui")
			b.waitText("Lag by stream")
			b.wait(`document.querySelector(".lag") && document.body.innerText.includes("weather")`)
		})
	}
	t.Run("varve", func(t *testing.T) {
		w := newWorld(t)
		b := w.open(t, "/ui?with=varve", "")
		b.wait(`document.querySelector("pre")`)
		w.paste(t, b.text("pre"), "")
		b.visit("/ui")
		b.waitText("Lag by stream")
	})
	t.Run("form", func(t *testing.T) {
		w := newWorld(t)
		b := w.open(t, "/ui", "")
		b.waitText("Or store a reading here")
		b.eval(`document.querySelector("#one-value").select()`)
		b.press("19.5" + kb.Enter)
		b.waitText(`{"temperature":19.5}`)
		if n := strings.Count(string(w.varve(t, "query", "weather", "sensor_01", "-o", "ndjson")), "19.5"); n != 1 {
			t.Errorf("%d readings are stored", n)
		}
		b.eval(`[...document.querySelectorAll("button")].find(b => b.textContent === "Show the server").click()`)
		b.waitText("Lag by stream")
	})
}

// paste runs lines of the page in a shell. It adds options to curl, so that curl fails for an error
// status.
func (w *world) paste(t *testing.T, lines, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", strings.ReplaceAll(lines, "curl ", "curl --fail-with-body -sS "))
	cmd.Env = append(cmd.Environ(), "VARVE_KEY="+key, "PATH="+filepath.Dir(binary)+":/usr/bin:/bin")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v: %s", lines, err, out)
	}
}

// TestSetting_TurnsConsoleOff checks that a server without the console has no page at /ui.
func TestSetting_TurnsConsoleOff(t *testing.T) {
	w := newWorld(t, "--set", "console.enabled=false")
	if status, text := w.send(t, http.MethodGet, "/ui", ""); status != http.StatusNotFound {
		t.Errorf("/ui: %d %s", status, text)
	}
	if status, text := w.send(t, http.MethodGet, "/", ""); status != http.StatusOK || !strings.Contains(string(text), "Varve API") {
		t.Errorf("/: %d %.100s", status, text)
	}
}
