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

// damageMessages says where messages of damage are made: the arguments of calls,
// the values of fields, and constants by the beginning of their names.
var damageMessages = []struct{ file, calls, fields, constants string }{
	{"store/local/identity.go", "damaged replaceIdentity", "Reason", ""},
	{"store/local/start.go", "damaged New", "Reason reason", ""},
	{"store/local/losses.go", "", "", "say"},
	{"store/local/lossreport.go", "", "Reason", ""},
	{"store/local/verify.go", "New", "", ""},
	{"store/local/check.go", "New", "", ""},
	{"store/local/quick.go", "Errorf", "", ""},
	{"store/local/pair.go", "Errorf", "", ""},
	{"store/local/journal/report.go", "Sprintf", "", ""},
	{"store/local/journal/scan.go", "problem Errorf Sprintf", "Text", ""},
	{"store/local/journal/replay.go", "New Sprintf", "Text", ""},
	{"store/local/journal/chain.go", "New Errorf Sprintf", "Text", ""},
	{"store/damaged_row.go", "Sprintf", "", ""},
	{"store/dynamo/verify_row.go", "New Errorf", "", ""},
	{"store/dynamo/row.go", "New Errorf", "", ""},
	{"store/dynamo/stream_row.go", "Errorf", "", ""},
	{"rollup/check.go", "differs", "", ""},
	{"rollup/rest.go", "Errorf", "", ""},
	{"cmd/varve/damage.go", "Msg", "", ""},
	{"cmd/varve/recount.go", "", "", "say"},
	{"cmd/varve/doctor_damage.go", "", "", "say"},
}

// wrapping are the texts that only put a name before another message.
var wrapping = []string{"read …: …", "write … of the journal: …", "…: bytes … to …: …", "… whole frames", "field …: …", "reading …: …", "rebuild after …: …", "not a chain: …"}

var verb = regexp.MustCompile(`%[-+.#0-9]*[a-zA-Z]`)

// messagesOf returns the messages that a file makes, with … for what varies.
func messagesOf(t *testing.T, file, calls, fields, constants string) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var add func(e ast.Expr)
	add = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(e.Value)
			if err != nil || e.Kind != token.STRING {
				return
			}
			text = strings.Trim(verb.ReplaceAllString(text, "…"), " :;,")
			if strings.Count(text, " ") > 1 && !slices.Contains(wrapping, text) {
				list = append(list, text)
			}
		case *ast.BinaryExpr:
			add(e.X)
			add(e.Y)
		case *ast.CallExpr: // fmt.Sprintf inside
			if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
				add(e.Args[0])
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if slices.Contains(strings.Fields(calls), name) {
				for _, arg := range n.Args {
					add(arg)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(strings.Fields(fields), key.Name) {
				add(n.Value)
			}
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && slices.Contains(strings.Fields(fields), name.Name) {
				add(n.Rhs[0])
			}
		case *ast.ValueSpec:
			if constants != "" && strings.HasPrefix(n.Names[0].Name, constants) {
				for _, v := range n.Values {
					add(v)
				}
			}
		case *ast.FuncDecl:
			if n.Name.Name == "lossText" { // log messages by name
				ast.Inspect(n, func(r ast.Node) bool {
					if ret, ok := r.(*ast.ReturnStmt); ok {
						for _, e := range ret.Results {
							add(e)
						}
					}
					return true
				})
			}
		}
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// TestDamageMessages_AreDocumented: docs/operations.md has each message of damage
// in a line of its own, as it is shown.
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
