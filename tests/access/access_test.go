package access

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/dynamotest"
)

const (
	root     = "../.."
	document = root + "/docs/access-patterns.md"
)

var update = flag.Bool("update", false, "write the costs of patterns into the document")

// row is the line of an access pattern in docs/access-patterns.md, whose tables have the columns
// | # | pattern | call | on DynamoDB | read units | write units | test |.
type row struct {
	line  int
	cells []string
}

const columns = 7

func (r *row) cost() cost { return cost{r.cells[3], r.cells[4], r.cells[5]} }

// readRows returns the lines of docs/access-patterns.md, and the rows of its tables. The first cell
// of a row, such as AP1, is its key.
func readRows(t *testing.T) (lines []string, rows map[string]*row) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	lines, rows = strings.Split(string(text), "\n"), map[string]*row{}
	for i, line := range lines {
		inner, ok := strings.CutPrefix(line, "| ")
		cells := strings.Split(strings.TrimSuffix(inner, " |"), " | ")
		if !ok || cells[0] == "#" {
			continue
		}
		if len(cells) != columns || rows[cells[0]] != nil {
			t.Fatalf("%s:%d: %d cells, want %d with a unique first one: %s", document, i+1, len(cells), columns, line)
		}
		rows[cells[0]] = &row{line: i, cells: cells}
	}
	return lines, rows
}

// TestPatterns_MatchCosts runs every access pattern of docs/access-patterns.md. Its cost must equal the
// documented cost. DynamoDB Local counts the units. A short run uses another emulator, which is faster,
// and compares only the operations.
func TestPatterns_MatchCosts(t *testing.T) {
	emulator := dynamotest.Local
	if testing.Short() {
		emulator = dynamotest.Dynoxide
	}
	lines, rows := readRows(t)
	w := newWorld(t, emulator)
	for _, p := range append(ofReadings(), ofDevices()...) {
		r := rows[p.id]
		if r == nil {
			t.Errorf("pattern %s is not in %s", p.id, document)
			continue
		}
		delete(rows, p.id)
		t.Run(p.id, func(t *testing.T) {
			got, want := w.measure(t, func(i int) { p.perform(t, w, i) }), r.cost()
			if testing.Short() {
				got.reads, got.writes, want.reads, want.writes = "", "", "", ""
			}
			if got != want && !*update {
				t.Errorf("%s costs %+v, documented are %+v: run with -update", r.cells[1], got, want)
			}
			r.cells[3], r.cells[4], r.cells[5] = got.operations, got.reads, got.writes
			lines[r.line] = "| " + strings.Join(r.cells, " | ") + " |"
		})
	}
	for id, r := range rows {
		t.Errorf("%s:%d: pattern %s is not performed", document, r.line+1, id)
	}
	if *update && !testing.Short() && !t.Failed() {
		if err := os.WriteFile(document, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	goTest = regexp.MustCompile("`([a-z]+)\\.(Test\\w+)`")
	script = regexp.MustCompile("`([\\w-]+\\.txtar)`")
)

// TestPatterns_NameExistingTests checks that every pattern names at least one test, and that these
// tests exist.
func TestPatterns_NameExistingTests(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, folder := d.Name(), filepath.Base(filepath.Dir(path))
		if filepath.Dir(path) == root {
			folder = "varve"
		}
		known[name] = true
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			known[folder+"."+f[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, rows := readRows(t)
	for id, r := range rows {
		tests := r.cells[columns-1]
		named := append(goTest.FindAllString(tests, -1), script.FindAllString(tests, -1)...)
		if len(named) == 0 {
			t.Errorf("pattern %s names no test: %s", id, tests)
		}
		for _, n := range named {
			if !known[strings.Trim(n, "`")] {
				t.Errorf("pattern %s names %s, which is missing", id, n)
			}
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s has no patterns", document)
	}
}
