package console

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// pages lists the addresses that every page test visits. Each page of the console has a line. The
// field shot is the name of the page's screenshot in docs/console.
var pages = []struct{ path, shot string }{
	{"/ui", "now"},
	{"/ui/tables", "tables"},
	{"/ui/tables?replay=" + time.Now().UTC().Format("2006-01") + "&day=" + time.Now().UTC().AddDate(0, 0, -4).Format(time.DateOnly), "replay"},
	{"/ui/devices", "devices"},
	{"/ui/device/north?from=-7d&with=south&fields=temperature,humidity", "device"},
	{"/ui/device/cellar?from=-365d&fields=temperature&show=band&list=1", "band"},
	{"/ui/alerts?state=all", "alerts"},
	{"/ui/alerts?new=1&draft=%7B%22stream%22%3A%22weather%22%2C%22field%22%3A%22temperature%22%2C%22threshold%22%3A%2228%22%7D", "rule"},
	{"/ui/rejects", "rejects"},
	{"/ui/keys", "keys"},
	{"/ui/settings", "settings"},
}

var update = flag.Bool("update", false, "write the screenshots of docs/console")

// TestPages_HaveNoFindings visits each page in both themes, and at the width of a phone. It fails
// for errors in the browser's console, violations of the content security policy, serious findings
// of axe, and pages wider than the screen.
func TestPages_HaveNoFindings(t *testing.T) {
	w := sharedDemo(t)
	for _, p := range pages {
		t.Run(p.shot, func(t *testing.T) {
			b := w.open(t, p.path, "")
			for name, l := range looks {
				b.setLook(l)
				b.visit(p.path)
				b.settle()
				b.checkAxe(name)
				b.checkWidth(name)
				b.check()
			}
			if *update {
				b.saveScreenshot(p.path, p.shot)
			}
		})
	}
}

// TestScreenshots_AreWritten writes screenshots of further states of pages, with -update.
func TestScreenshots_AreWritten(t *testing.T) {
	if !*update {
		t.Skip("screenshots are written with -update")
	}
	at := time.Now().AddDate(0, 0, 45).UTC().Format(time.DateOnly)
	sharedDemo(t).open(t, "/ui", "").saveScreenshot("/ui/tables?at="+at, "plan")
	newWorld(t).open(t, "/ui", "").saveScreenshot("/ui", "start")
}

// saveScreenshot writes the screenshot of a page for the documents.
func (b *tab) saveScreenshot(path, name string) {
	b.t.Helper()
	b.setLook(look{"light", 1200, 860})
	b.visit(path)
	b.settle()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "console", name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
