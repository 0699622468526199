package rotator_test

import (
	"flag"
	"fmt"
	"github.com/varvedb/varve/grid"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/*.txt")

// TestScripts_MatchOutput runs the scripts in testdata. A line without indentation is a command, or
// a comment if it begins with #. The indented lines below a command are its exact output.
// testdata/README describes the commands.
func TestScripts_MatchOutput(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, file, string(text))
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s (go test ./rotator -run TestScripts_MatchOutput -update rewrites it):\n%s", file, difference(string(text), got))
		})
	}
}

// runScript runs a script, and returns the script with the actual output of each command.
func runScript(t *testing.T, file, text string) string {
	s := &script{world: newWorld(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), failing: map[string]bool{}}
	s.store.before = s.refuse
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for n, line := range lines {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		do, ok := commands[words[0]]
		if !ok {
			t.Fatalf("%s:%d: there is no command %q", file, n+1, words[0])
		}
		s.at = fmt.Sprintf("%s:%d", file, n+1)
		for _, answer := range do(s, words[1:]) {
			out.WriteString("    " + answer + "\n")
		}
	}
	return out.String()
}

// difference returns the first line that differs between two texts, with the lines around it.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; ; i++ {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		show := func(lines []string) string {
			from := min(max(i-3, 0), len(lines))
			return strings.Join(lines[from:min(i+6, len(lines))], "\n")
		}
		return fmt.Sprintf("line %d\n--- want\n%s\n--- got\n%s", i+1, show(w), show(g))
	}
}

type script struct {
	*world
	at      string          // file and line of the current command
	failing map[string]bool // steps that the store refuses, such as "drop 2026-05"
	calls   int             // if killing, the number of calls until the process is killed
	killing bool
}

// refuse is called before each call of the store. It returns an error for the calls that the script
// selected.
func (s *script) refuse(op string, t grid.Table) error {
	if s.killing {
		if s.calls--; s.calls < 0 {
			return fmt.Errorf("the process is dead")
		}
	}
	if t != (grid.Table{}) && (s.failing[op] || s.failing[op+" "+t.Month.String()]) {
		return fmt.Errorf("the store refuses to %s", op)
	}
	return nil
}

func (s *script) fatal(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.at, fmt.Sprintf(format, args...))
}

// time parses a time: 2026-10-31, 2026-10-31T23:59:00Z, or now.
func (s *script) time(word string) time.Time {
	s.t.Helper()
	if word == "now" {
		return s.clock
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, word); err == nil {
			return t
		}
	}
	s.fatal("%q is not a time", word)
	return time.Time{}
}

// month parses a month: 2026-10.
func (s *script) month(word string) grid.Month {
	s.t.Helper()
	t, err := time.Parse("2006-01", word)
	if err != nil {
		s.fatal("%q is not a month", word)
	}
	return grid.MonthOf(t)
}

// selected returns the tables that a word selects. The word 2026-10 selects all tables of an
// arrival month. The word 2026-10/2026-10-12 selects the table of that month for the events of a
// day.
func (s *script) selected(word string) []grid.Table {
	s.t.Helper()
	text, day, one := strings.Cut(word, "/")
	month := s.month(text)
	var found []grid.Table
	for _, in := range s.tables() {
		if in.Month == month && (!one || in.Contains(s.time(day))) {
			found = append(found, in.Table)
		}
	}
	if len(found) == 0 {
		s.fatal("there is no table %s", word)
	}
	return found
}
