package words_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/internal/words"
)

// bad has, for each rule about a phrase, texts that break the rule exactly once, and similar
// texts that do not break it.
var bad = []struct {
	rule  string
	wrong []string
	right []string
}{
	{"what-clause",
		[]string{"It keeps what is stored.", "What is stored stays.", "A list of what is held.", "Whatever it is, it is read."},
		[]string{"What happens if a process dies?", "The plan shows what changes.", "It keeps the readings."}},
	{"who-clause",
		[]string{"It is for who asks.", "Who asks may not.", "It is known by whom."},
		[]string{"Who may drop a table?", "Operators who rotate keys need this."}},
	{"british",
		[]string{"Its colour is red.", "Two neighbouring rows exist.", "The offset was learnt.", "The request was cancelled."},
		[]string{"Its color is red.", "The offset was learned.", "The cancellation took a second.", "An hour has passed."}},
	{"those-of",
		[]string{"It reads those of a class.", "It is larger than that of a class.", "It lists those who asked."},
		[]string{"It reads the tables that overlap.", "Those tables are empty."}},
	{"there-is",
		[]string{"There are tables.", "The row is not there.", "If the row is there, it is read."},
		[]string{"The row exists.", "Is there a table?", "It waits there for a lease."}},
	{"is-no",
		[]string{"This is no id.", "Its result is none.", "It is nothing without a key."},
		[]string{"It is no longer read.", "It is no more than a hint.", "The table has no rows."}},
	{"says",
		[]string{"It says why.", "The name tells them apart.", "The failure is noted."},
		[]string{"It reports why.", "See the note below."}},
	{"anew",
		[]string{"It is counted anew.", "A reading that comes again is a duplicate.", "It is read again."},
		[]string{"It recounts the hour.", "The condition holds again."}},
	{"motion",
		[]string{"The scan goes on.", "It goes through all rows.", "The row comes back."},
		[]string{"The scan continues.", "The cargo moves on."}},
	{"behind",
		[]string{"It lies behind the last row."},
		[]string{"It runs behind a proxy.", "It runs behind a load balancer.", "It follows the last row."}},
	{"of-which", []string{"A device of which it is known."}, []string{"A device in which it is set."}},
	{"nobody", []string{"Nobody reads it.", "It waits in vain."}, []string{"No process reads it."}},
	{"idiom", []string{"It is taken for a copy.", "It takes two requests at the most."}, []string{"It takes at most two requests."}},
	{"zero-value", []string{"The limit; 0: none.", "nil: all fields."}, []string{"0 means no limit.", "If nil, it is off."}},
}

// inAllSources returns files of each kind that contain the text: Go, Markdown and Terraform.
func inAllSources(text string) map[string]string {
	return map[string]string{
		"a.go":      "package a\n\n// " + text + "\nvar a = 1\n",
		"a_test.go": "package a\n\n// " + text + "\nvar a = 1\n",
		"m.go":      "package a\n\nvar a = `Some words here. " + text + "`\n",
		"tag.go":    "package a\n\ntype a struct {\n\tB int `doc:\"Some words. " + text + "\"`\n}\n",
		"a.md":      "# Title\n\n- " + text + "\n",
		"cell.md":   "| a | b |\n|---|---|\n| x | " + text + " |\n",
		"a.tf":      "variable \"a\" {\n  description = \"" + text + "\"\n}\n",
	}
}

func TestCheckFile_FindsForbiddenPhrases(t *testing.T) {
	for _, c := range bad {
		for _, text := range c.wrong {
			for name, source := range inAllSources(text) {
				if n := count(t, name, source, c.rule); n == 0 {
					t.Errorf("%s: %q passes %s", name, text, c.rule)
				}
			}
		}
		for _, text := range c.right {
			for name, source := range inAllSources(text) {
				if n := count(t, name, source, c.rule); n != 0 {
					t.Errorf("%s: %q breaks %s", name, text, c.rule)
				}
			}
		}
	}
}

func TestRules_AllHaveCases(t *testing.T) {
	cases := []string{words.BareName, words.PrivateWord, words.KeepName, words.LongSentence, words.LongFirst}
	for _, c := range bad {
		cases = append(cases, c.rule)
	}
	for _, r := range words.Rules() {
		if !slices.Contains(cases, r.Name) {
			t.Errorf("rule %s has no case", r.Name)
		}
		if r.Reason == "" || r.Remedy == "" {
			t.Errorf("rule %s lacks a reason or a remedy", r.Name)
		}
	}
}

func TestCheckFile_FindsNames(t *testing.T) {
	for _, c := range []struct {
		file, source, rule string
		want               int
	}{
		{"router/a.go", "func take() {}", words.BareName, 1},
		{"router/a.go", "type r struct{}\nfunc (r) Keep() {}", words.BareName, 1},
		{"router/a.go", "type r interface{ mark() }", words.BareName, 1},
		{"router/a.go", "type r struct{ first int }", words.BareName, 0},
		{"router/a.go", "func takeLease() {}", words.BareName, 0},
		{"router/a.go", "func Run() {}", words.BareName, 0},
		{"router/a_test.go", "func take() {}", words.BareName, 0},
		{"store/local/a.go", "type tail struct{}", words.PrivateWord, 1},
		{"store/local/level/a.go", "type s struct{ edge int }", words.PrivateWord, 1},
		{"store/local/journal/a.go", "type tail struct{}", words.PrivateWord, 0},
		{"router/a.go", "type tail struct{}", words.PrivateWord, 0},
		{"router/a.go", "func keepRow() {}", words.KeepName, 1},
		{"router/a.go", "func keeps() {}", words.KeepName, 1},
		{"router/a.go", "type r struct{ KeepTexts bool }", words.KeepName, 1},
		{"router/a.go", "type r struct{ KeepExpired, Keep, keeper bool }", words.KeepName, 0},
	} {
		if got := count(t, c.file, "package a\n"+c.source+"\n", c.rule); got != c.want {
			t.Errorf("%s: %q: %d findings of %s, want %d", c.file, c.source, got, c.rule, c.want)
		}
	}
}

func TestCheckFile_FindsLongSentences(t *testing.T) {
	thirty := strings.TrimSpace(strings.Repeat("word ", 30))
	twenty := strings.TrimSpace(strings.Repeat("word ", 20))
	for _, c := range []struct {
		name, file, source, rule string
		want                     int
	}{
		{"doc of 30", "a.go", "// " + thirty + ".\nvar a = 1", words.LongSentence, 0},
		{"doc of 31", "a.go", "// " + thirty + " end.\nvar a = 1", words.LongSentence, 1},
		{"second sentence", "a.go", "// a is a.\n// " + thirty + " end.\nvar a = 1", words.LongSentence, 1},
		{"field", "a.go", "type a struct {\n\t// " + thirty + " end.\n\tb int\n}", words.LongSentence, 1},
		{"no doc", "a.go", "func a() {\n\t// " + thirty + " end.\n}", words.LongSentence, 0},
		{"two sentences", "a.go", "// " + twenty + ". " + twenty + ".\nvar a = 1", words.LongSentence, 0},
		{"quoted end", "a.go", "// " + twenty + ` "a". ` + twenty + ".\nvar a = 1", words.LongSentence, 0},
		{"code span at the end", "a.md", twenty + " `a`. " + twenty + ".", words.LongSentence, 0},
		{"indented code", "a.go", "// a is a.\n//\n//\t" + thirty + " end\nvar a = 1", words.LongSentence, 0},
		{"markdown of 31", "a.md", thirty + "\nend.", words.LongSentence, 1},
		{"markdown list", "a.md", "- " + twenty + "\n- " + twenty, words.LongSentence, 0},
		{"markdown code", "a.md", "```\n" + thirty + " end\n```\n", words.LongSentence, 0},
		{"markdown code span", "a.md", "`" + thirty + "` end.", words.LongSentence, 0},
		{"exported of 20", "a.go", "// " + twenty + ".\nvar A = 1", words.LongFirst, 0},
		{"exported of 21", "a.go", "// " + twenty + " end.\nvar A = 1", words.LongFirst, 1},
		{"exported method", "a.go", "type a int\n\n// " + twenty + " end.\nfunc (a) B() {}", words.LongFirst, 1},
		{"not exported", "a.go", "// " + twenty + " end.\nvar a = 1", words.LongFirst, 0},
		{"exported in a test", "a_test.go", "// " + twenty + " end.\nvar A = 1", words.LongFirst, 0},
	} {
		source := c.source + "\n"
		if strings.HasSuffix(c.file, ".go") {
			source = "package a\n\n" + source
		}
		if got := count(t, c.file, source, c.rule); got != c.want {
			t.Errorf("%s: %d findings of %s, want %d", c.name, got, c.rule, c.want)
		}
	}
}

func count(t *testing.T, name, source, rule string) int {
	t.Helper()
	all, err := words.CheckFile(name, []byte(source))
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, source)
	}
	n := 0
	for _, f := range all {
		if f.Rule == rule {
			n++
		}
	}
	return n
}
