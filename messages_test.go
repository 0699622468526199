package varve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// damageMessages lists the files that contain messages about damage, and how to find the messages.
// The messages are arguments of the functions named in "calls", values of the fields and variables
// named in "fields", and constants whose names begin with the text in "constants".
var damageMessages = []struct{ file, calls, fields, constants string }{
	{"store/local/identity.go", "damaged replaceIdentity", "Reason", ""},
	{"store/local/opener.go", "damaged New", "Reason reason", ""},
	{"store/local/losses.go", "", "", "say"},
	{"store/local/damage_report.go", "", "Reason", ""},
	{"store/local/verify.go", "New", "", ""},
	{"store/local/check.go", "New", "", ""},
	{"store/local/check_quick.go", "Errorf", "", ""},
	{"store/local/pair.go", "Errorf", "", ""},
	{"store/local/journal/report.go", "Sprintf", "", ""},
	{"store/local/journal/scan.go", "problem Errorf Sprintf", "Text", ""},
	{"store/local/journal/replay.go", "New Sprintf", "Text", ""},
	{"store/local/journal/chain.go", "New Errorf Sprintf", "Text", ""},
	{"store/damaged_row.go", "Sprintf", "", ""},
	{"store/dynamo/row/check.go", "New Errorf", "", ""},
	{"store/dynamo/row/parse.go", "New Errorf", "", ""},
	{"store/dynamo/row/row.go", "Errorf", "", ""},
	{"store/dynamo/row/series.go", "Errorf", "", ""},
	{"store/dynamo/row/stream.go", "Errorf", "", ""},
	{"rollup/check.go", "addDifference", "", ""},
	{"rollup/partial.go", "Errorf", "", ""},
	{"cmd/varve/damage.go", "Msg", "", ""},
	{"cmd/varve/recount.go", "", "", "say"},
	{"cmd/varve/doctor_damage.go", "", "", "say"},
}

// wrapping lists the messages that only put a name before another message. They need no line in
// the documentation.
var wrapping = []string{"read …: …", "write … of the journal: …", "…: bytes … to …: …", "… whole frames", "field …: …", "reading …: …", "rebuild after …: …", "not a chain: …"}

var verb = regexp.MustCompile(`%[-+.#0-9]*[a-zA-Z]`)

// collector gathers the messages of one file.
type collector struct{ list []string }

// add appends the messages in an expression. Each variable part becomes an ellipsis. Texts of fewer
// than three words and the messages in wrapping are left out.
func (c *collector) add(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			return
		}
		text = strings.Trim(verb.ReplaceAllString(text, "…"), " :;,")
		if strings.Count(text, " ") > 1 && !slices.Contains(wrapping, text) {
			c.list = append(c.list, text)
		}
	case *ast.BinaryExpr:
		c.add(e.X)
		c.add(e.Y)
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" {
			c.add(e.Args[0])
		}
	}
}

// nameOf returns the last part of a qualified name: Errorf for fmt.Errorf.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// messagesOf returns the messages about damage in a file, sorted and without repetitions.
func messagesOf(t *testing.T, file, calls, fields, constants string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var c collector
	is := func(name, of string) bool { return name != "" && slices.Contains(strings.Fields(of), name) }
	log := false // whether the current function returns messages for the log
	ast.Inspect(parsed, func(n ast.Node) bool {
		var found []ast.Expr
		switch n := n.(type) {
		case *ast.FuncDecl:
			log = n.Name.Name == "lossText"
		case *ast.ReturnStmt:
			if log {
				found = n.Results
			}
		case *ast.CallExpr:
			if is(nameOf(n.Fun), calls) {
				found = n.Args
			}
		case *ast.KeyValueExpr:
			if is(nameOf(n.Key), fields) {
				found = []ast.Expr{n.Value}
			}
		case *ast.AssignStmt:
			if is(nameOf(n.Lhs[0]), fields) {
				found = n.Rhs
			}
		case *ast.ValueSpec:
			if constants != "" && strings.HasPrefix(n.Names[0].Name, constants) {
				found = n.Values
			}
		}
		for _, e := range found {
			c.add(e)
		}
		return true
	})
	slices.Sort(c.list)
	return slices.Compact(c.list)
}

// TestDamageMessages_AreDocumented checks that docs/operations.md has a line for each message
// about damage.
func TestDamageMessages_AreDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Messages of damage\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := strings.Split(section, "\n")
	n := 0
	for _, m := range damageMessages {
		list := messagesOf(t, m.file, m.calls, m.fields, m.constants)
		if len(list) == 0 {
			t.Errorf("%s makes no messages: mend the list", m.file)
		}
		for _, message := range list {
			n++
			if !slices.Contains(lines, "- `"+message+"`") {
				t.Errorf("docs/operations.md, Messages of damage, lacks:\n- `%s`\t(%s)", message, m.file)
			}
		}
	}
	t.Logf("%d messages", n)
}
