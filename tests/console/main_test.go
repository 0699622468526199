// Package console tests the console in a real browser, against the real program.
//
// Each test opens a tab of headless Chromium. A tab fails its test after any error in the browser's
// console, and after any violation of the content security policy. The tests cover every page, in
// both themes and by keyboard. See run.sh for the tools.
package console

import (
	"context"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	binary  string          // path of the program under test, which reads the offset of its clock from the file "clock"
	browser context.Context // all tabs belong to one browser
	axe     string          // the script of axe-core
)

func TestMain(m *testing.M) {
	os.Exit(runTests(m)) //nolint:forbidigo // as every TestMain must
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "varve-console")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system deletes files that remain
	binary = filepath.Join(dir, "varve")
	build := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-ldflags", "-X main.testClock=clock", "-o", binary, "./cmd/varve")
	if text, err := build.CombinedOutput(); err != nil {
		log.Printf("go build: %v\n%s", err, text)
		return 1
	}
	script, err := os.ReadFile(axePath())
	if err != nil {
		log.Printf("%v: run tests/console/run.sh", err)
		return 1
	}
	axe = string(script)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	if path, err := exec.LookPath("chromium"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	started, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(started); err != nil {
		log.Printf("start Chromium: %v", err)
		return 1
	}
	browser = started
	code := m.Run()
	if shared.Server != nil {
		if err := shared.Stop(); err != nil {
			log.Print(err)
			return 1
		}
	}
	return code
}

// axePath returns the path to which tools.sh unpacks axe-core.
func axePath() string {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "varve", "console", "package", "axe.min.js")
}
