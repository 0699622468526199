package console

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience limits the wait for a page. It is much longer than even a busy machine needs.
const patience = 60 * time.Second

// tab is a tab of the browser. Tabs share no storage.
type tab struct {
	t       *testing.T
	ctx     context.Context
	server  *world
	mu      sync.Mutex
	errors  []string
	allowed []string // check ignores messages that contain one of these texts
}

// watch records violations of the content security policy in a page, and counts the requests that
// are under way. Its function "settled" waits until a page has no such request and is not loading
// during four frames. After a change of the page, the next request begins within fewer frames.
const watch = `window.violations = []; window.underWay = 0;
addEventListener("securitypolicyviolation", e => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile));
const counted = (f) => function (...args) { underWay++; return f.apply(this, args).finally(() => underWay--); };
window.fetch = counted(window.fetch); Response.prototype.text = counted(Response.prototype.text);
window.settled = async () => {
	for (let quiet = 0; quiet < 4; ) {
		await new Promise(r => requestAnimationFrame(() => setTimeout(r)));
		quiet = !underWay && document.querySelector("#title") && !document.querySelector("[role=status]") ? quiet + 1 : 0;
	}
};`

// open opens a tab at a path of the console, with an API key if key is not empty.
func (w *world) open(t *testing.T, path, key string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, server: w}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the tab was closed
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.errors = append(b.errors, fmt.Sprint(m, " ", m.URL))
				b.mu.Unlock()
			}
		}
	}()
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		t.Fatal(err)
	}
	if key != "" {
		b.allow("401")
		b.visit("/ui")
		b.wait(`document.querySelector("#key")`)
		b.eval(`sessionStorage.setItem("varve.key", ` + quoted(key) + `)`)
	}
	b.visit(path)
	t.Cleanup(b.check)
	return b
}

// allow makes the method check ignore messages of the browser's console that contain a text.
func (b *tab) allow(part string) { b.allowed = append(b.allowed, part) }

// check fails the test for each violation of the page's security policy. It also fails the test for
// each error of the console since the last check, unless the error is allowed.
func (b *tab) check() {
	b.t.Helper()
	for _, v := range evaluate[[]string](b, `window.violations || []`) {
		b.t.Errorf("violation of the content security policy: %s", v)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.errors {
		if !slices.ContainsFunc(b.allowed, func(part string) bool { return strings.Contains(text, part) }) {
			b.t.Errorf("the browser's console has: %s", text)
		}
	}
	b.errors = nil
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.server.URL + path))
}

// evaluate returns the value of an expression in the page. It waits for promises.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

func (b *tab) eval(expression string) {
	b.t.Helper()
	evaluate[bool](b, "("+expression+", true)")
}

func (b *tab) wait(expression string) {
	b.t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !evaluate[bool](b, "!!("+expression+")") {
		select {
		case <-late:
			b.t.Fatalf("%s is not true after %s; the page has:\n%s", expression, patience, b.text("body"))
		case <-tick.C:
		}
	}
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? ""`, quoted(selector)))
}

func (b *tab) waitText(text string) {
	b.t.Helper()
	b.wait(`document.body.innerText.includes(` + quoted(text) + `)`)
}

func (b *tab) press(keys string, options ...chromedp.KeyOption) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, options...))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.wait(`document.querySelector(` + quoted(selector) + `)`)
	b.eval(`document.querySelector(` + quoted(selector) + `).click()`)
}

// settle waits until a page has no request under way and is not loading.
func (b *tab) settle() {
	b.t.Helper()
	evaluate[bool](b, `settled().then(() => true)`)
}

type look struct {
	theme         string
	width, height int64
}

var looks = map[string]look{
	"light": {"light", 1280, 900}, "dark": {"dark", 1280, 900}, "phone": {"light", 360, 740}, "phone dark": {"dark", 360, 740},
}

// setLook emulates the size of the screen and the system's theme.
func (b *tab) setLook(l look) {
	b.t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(l.width, l.height))
}

// checkAxe fails the test for each serious or critical finding of axe-core.
func (b *tab) checkAxe(what string) {
	b.t.Helper()
	evaluate[bool](b, axe+"\n; true")
	type finding struct {
		ID, Impact, Help string
		Nodes            []struct {
			Target []any
			HTML   string
		}
	}
	text := evaluate[string](b, `axe.run(document, { resultTypes: ["violations"] }).then(r => JSON.stringify(r.violations))`)
	var found []finding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Errorf("%s: axe: %s: %s: %v %.200s", what, f.ID, f.Help, f.Nodes[0].Target, f.Nodes[0].HTML)
		}
	}
}

// checkWidth fails the test if the page is wider than the screen, or if elements are cut off.
func (b *tab) checkWidth(what string) {
	b.t.Helper()
	if over := evaluate[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.t.Errorf("%s: the page is %v pixels wider than the window", what, over)
	}
	if cut := evaluate[[]string](b, cutOff); len(cut) > 0 {
		b.t.Errorf("%s: elements are cut off: %q", what, cut)
	}
}

// cutOff lists up to five elements that end to the right of the screen. A user cannot reach them,
// because no box around them scrolls. On a phone, the rows of stacked tables must fit without
// scrolling.
const cutOff = `[...document.querySelectorAll("main *")].filter((e) => {
  const r = e.getBoundingClientRect();
  if (r.width === 0 || r.height === 0 || r.right <= innerWidth + 1 || e.closest(".unseen, svg, thead")) return false;
  if (e.closest(".stacks") && innerWidth < 480) return true;
  for (let p = e.parentElement; p; p = p.parentElement) if (["auto", "scroll"].includes(getComputedStyle(p).overflowX)) return false;
  return true;
}).slice(0, 5).map((e) => e.outerHTML.slice(0, 100))`

func quoted(text string) string {
	q, _ := json.Marshal(text) // never fails for a string
	return string(q)
}
