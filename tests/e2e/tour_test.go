package e2e

import (
	"bytes"
	"github.com/varvedb/varve/tests/varvetest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tourDay is the time at which the tour in the README begins.
var tourDay = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const readme = "../../README.md"

// TestTour_PrintsDocumentedOutput runs the commands of the tour in the README in one folder, and
// compares their output with the README. With the flag -update, it rewrites the README.
func TestTour_PrintsDocumentedOutput(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	head, tour, found := strings.Cut(string(text), "## Five-minute tour\n")
	if !found {
		t.Fatal("the README has no tour")
	}
	tr := newTourist(t)
	is := head + "## Five-minute tour\n" + tr.walk(tour)
	if is == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(readme, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := strings.Split(string(text), "\n"), strings.Split(is, "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("README.md:%d says\n%s\nand what is printed is\n%s", i+1, want[i], got[i])
		}
	}
	t.Fatalf("the README has %d lines, and what is printed makes %d", len(want), len(got))
}

type tourist struct {
	t       *testing.T
	dir     string
	server  *varvetest.Server
	exports string // the export commands so far, which each further command needs
}

func newTourist(t *testing.T) *tourist {
	tr := &tourist{t: t, dir: t.TempDir()}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"docs": filepath.Join(root, "docs"), "bin": filepath.Dir(binary)} {
		if err := os.Symlink(target, filepath.Join(tr.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := setClock(tr.dir, tourDay); err != nil {
		t.Fatal(err)
	}
	tr.server = start(t, tr.dir)
	return tr
}

// walk runs each command in the console blocks of a text. It returns the text with the actual
// output of the commands.
func (tr *tourist) walk(text string) string {
	var out strings.Builder
	console := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```console"):
			console = true
			out.WriteString(line)
		case strings.HasPrefix(line, "```"):
			console = false
			out.WriteString(line)
		case !console:
			out.WriteString(line)
		case strings.HasPrefix(line, "$ "):
			out.WriteString(line)
			out.WriteString(tr.run(strings.TrimSpace(line[2:])))
		}
	}
	return out.String()
}

func (tr *tourist) run(command string) string {
	switch {
	case command == "make run":
		return tr.greeting()
	case strings.HasPrefix(command, "export "):
		tr.exports += command + "\n"
		return ""
	}
	address := strings.TrimPrefix(tr.server.URL, "http://")
	cmd := exec.CommandContext(tr.t.Context(), "sh", "-c", tr.exports+strings.ReplaceAll(command, "127.0.0.1:8278", address))
	cmd.Dir = tr.dir
	cmd.Env = append(os.Environ(), "VARVE_SERVER="+tr.server.URL)
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 {
		tr.t.Errorf("%s: %v", command, err)
	}
	text := strings.ReplaceAll(buf.String(), "\r\n", "\n") // CSV has lines that end with CRLF, unlike the README
	return expiredPattern.ReplaceAllString(text, "arrived before 2025-11-21T12:00:00Z have expired")
}

// Patterns of output that differs between runs.
var (
	timePattern    = regexp.MustCompile(`"time":"[^"]*"`)
	versionPattern = regexp.MustCompile(`(?m)^Varve .* is ready\.$`)
	expiredPattern = regexp.MustCompile(`arrived before 2025-11-21T12:0\d:\d\dZ have expired`)
	exportPattern  = regexp.MustCompile(`(?m)^  export VARVE_SERVER=.*\n`)
)

// greeting returns the output of the server at its start, with the paths that make run would use.
func (tr *tourist) greeting() string {
	const begin, end = "Varve ", "Ctrl-C stops it.\n"
	if !varvetest.Eventually(func() bool { return strings.Contains(tr.server.Output(), end) }) {
		tr.t.Fatalf("the server does not greet:\n%s", tr.server.Output())
	}
	text := tr.server.Output()
	from, to := strings.Index(text, begin), strings.Index(text, end)
	text = exportPattern.ReplaceAllString(text[from:to], "") + end
	text = strings.ReplaceAll(text, binary, "bin/varve")
	text = strings.ReplaceAll(text, tr.dir, "/home/you/varve")
	text = strings.ReplaceAll(text, strings.TrimPrefix(tr.server.URL, "http://"), "127.0.0.1:8278")
	text = timePattern.ReplaceAllString(text, `"time":"`+tourDay.Format(time.RFC3339)+`"`)
	return versionPattern.ReplaceAllString(text, "Varve v0.1.0 is ready.")
}
