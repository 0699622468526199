package console

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// reached is a script that marks the element with the focus. It returns "new", "seen" for an element that
// was marked before, "none", or "invisible" if the focus cannot be seen.
const reached = `(e => {
	if (e === document.body) return "none";
	if (e.dataset.reached) return "seen";
	e.dataset.reached = "1";
	const s = getComputedStyle(e);
	return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1 || e.closest("#title, main") === e ? "new" : "invisible " + e.outerHTML.slice(0, 120);
})(document.activeElement)`

// missed is a script that returns the controls that the script "reached" has not marked.
const missed = `[...document.querySelectorAll("a[href], button:not(:disabled), input:not(:disabled), select, summary, textarea, [tabindex='0']")]
	.filter(e => e.checkVisibility() && e.tabIndex >= 0 && !e.dataset.reached).map(e => e.outerHTML.slice(0, 120))`

// tabThrough presses Tab until each control has had the focus. It fails the test if 600 presses are
// not enough.
func (b *tab) tabThrough(page string) {
	b.t.Helper()
	for range 600 {
		b.press(kb.Tab)
		if state := evaluate[string](b, reached); state != "new" && state != "seen" && state != "none" {
			b.t.Errorf("%s: the focus is invisible: %s", page, state)
		}
		if len(evaluate[[]string](b, missed)) == 0 {
			return
		}
	}
	b.t.Errorf("%s: Tab does not reach %v", page, evaluate[[]string](b, missed))
}

// TestKeyboard_ReachesEveryControl presses Tab through each page. Every control must get the focus, and
// show it.
func TestKeyboard_ReachesEveryControl(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui", "")
	for _, p := range pages {
		b.visit(p.path)
		b.settle()
		b.tabThrough(p.path)
		b.check()
	}
}

// TestKeyboard_ReachesEveryCell moves through the grid with arrows, selects a cell, and puts it on
// hold, all without a mouse.
func TestKeyboard_ReachesEveryCell(t *testing.T) {
	w := newDemo(t)
	b := w.open(t, "/ui/tables", "")
	b.waitGrid()
	b.settle()
	for range 60 {
		if b.press(kb.Tab); evaluate[bool](b, `!!document.activeElement.closest("svg")`) {
			break
		}
	}
	name := `document.activeElement.dataset.table || document.activeElement.dataset.planned || ""`
	seen := map[string]bool{}
	rows := evaluate[int](b, `document.querySelectorAll("[role=row]").length`)
	for range rows {
		b.press(kb.ArrowUp)
	}
	for range rows {
		b.press(kb.Home)
		for range 60 {
			at := evaluate[string](b, name)
			if seen[at] {
				break
			}
			seen[at] = true
			if shown := evaluate[string](b, `document.querySelector(".details").dataset.details || ""`); shown != at {
				t.Errorf("the details show %q, the focus is on %q", shown, at)
			}
			b.press(kb.ArrowRight)
		}
		b.press(kb.ArrowDown)
	}
	for cell := range b.cells() {
		if !seen[cell] {
			t.Errorf("the arrows do not reach %s", cell)
		}
	}
	b.press(kb.Enter)
	b.wait(fmt.Sprintf(`location.search.includes("table=" + (%s)) && document.querySelector(".details button")`, name))
	for range 5 {
		if b.press(kb.Tab); evaluate[bool](b, `document.activeElement.textContent.startsWith("Hold")`) {
			break
		}
	}
	b.press(kb.Enter)
	b.wait(`document.querySelector("dialog[open] #reason") === document.activeElement`)
	b.press("kept" + kb.Enter)
	b.waitText("on hold: kept")
}

// TestShortcuts_OpenPages opens a page and the help and changes the theme, all with keys. It also
// goes back in the history of the browser.
func TestShortcuts_OpenPages(t *testing.T) {
	w := sharedDemo(t)
	b := w.open(t, "/ui", "")
	b.settle()
	b.press("gt")
	b.wait(`location.pathname === "/ui/tables" && document.title.startsWith("Tables")`)
	b.waitGrid()
	b.eval(`history.back()`)
	b.wait(`location.pathname === "/ui" && document.title.startsWith("Now")`)
	b.press("?")
	b.waitText("This help")
	b.checkAxe("help")
	b.press(kb.Escape)
	b.wait(`!document.querySelector("dialog")`)
	var themes []string
	for range 3 {
		b.press("d")
		themes = append(themes, evaluate[string](b, `localStorage.getItem("varve.theme") || "system"`))
	}
	if !slices.Equal(themes, []string{"light", "dark", "system"}) {
		t.Errorf("the themes are %v", themes)
	}
	b.visit("/ui")
	b.settle()
	b.press(kb.Tab + kb.Enter) // follows the first link of the page, which skips the navigation
	b.wait(`document.activeElement.id === "main"`)
}
