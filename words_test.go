package varve_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/internal/words"
)

var (
	updateWords = flag.Bool("update", false, "lower the counts in testdata/words.txt to the findings")
	forceWords  = flag.Bool("force", false, "with -update: raise counts too, as after a merge")
)

// wordsFile lists the findings that are allowed for now. The goal is an empty list.
var wordsFile = filepath.Join("testdata", "words.txt")

// TestWords_FollowStyle compares the language of the tree with docs/style.md. It fails if a count
// is higher or lower than in testdata/words.txt.
//
//	go test . -run TestWords -v              totals per rule
//	go test . -run TestWords -update         lower the counts
//	go test . -run TestWords -update -force  accept all counts, also higher ones
func TestWords_FollowStyle(t *testing.T) {
	findings, err := words.Check(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	found, allowed := words.Count(findings), readWords(t)
	if *updateWords {
		if *forceWords {
			allowed = found
		} else {
			allowed = allowed.Lower(found)
		}
		writeWords(t, allowed)
	}
	totals, sum := found.Totals(), 0
	for _, r := range words.Rules() {
		t.Logf("%5d %-13s %s: %s", totals[r.Name], r.Name, r.Reason, r.Remedy)
		sum += totals[r.Name]
	}
	t.Logf("%5d findings in all", sum)
	rises, falls := allowed.Compare(found)
	for _, k := range rises {
		r, _ := words.RuleNamed(k.Rule)
		t.Errorf("%s: %s: %d findings, %d allowed: %s: %s", k.File, k.Rule, found[k], allowed[k], r.Reason, r.Remedy)
		logFindings(t, findings, k)
	}
	for _, k := range falls {
		t.Errorf("%s: %s: %d findings, %d allowed: run go test . -run TestWords -update", k.File, k.Rule, found[k], allowed[k])
	}
}

// logFindings logs the first findings of a file and rule.
func logFindings(t *testing.T, all []words.Finding, k words.Key) {
	t.Helper()
	shown := 0
	for _, f := range all {
		if f.File != k.File || f.Rule != k.Rule {
			continue
		}
		if shown++; shown > 10 {
			t.Log("  and more")
			return
		}
		t.Logf("  %s", f)
	}
}

func readWords(t *testing.T) words.Table {
	t.Helper()
	text, err := os.ReadFile(wordsFile)
	if err != nil && (!*updateWords || !errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	table, err := words.ParseTable(text)
	if err != nil {
		t.Fatalf("%s: %v", wordsFile, err)
	}
	return table
}

func writeWords(t *testing.T, table words.Table) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(wordsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wordsFile, table.Format(), 0o644); err != nil {
		t.Fatal(err)
	}
}
