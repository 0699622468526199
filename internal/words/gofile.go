package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

type goFile struct {
	name  string
	set   *token.FileSet
	file  *ast.File
	test  bool
	found []Finding
}

// checkGo returns the findings in a Go file. In test files it checks only the comments.
func checkGo(name string, text []byte) ([]Finding, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	g := &goFile{name: name, set: set, file: file, test: strings.HasSuffix(name, "_test.go")}
	docs := g.declarations()
	for _, c := range file.Comments {
		sentences := commentSentences(c.Text(), g.line(c.Pos()))
		g.found = append(g.found, checkPhrases(name, sentences)...)
		exported, isDoc := docs[c]
		if isDoc {
			g.found = append(g.found, checkLengths(name, sentences)...)
		}
		if exported && !g.test {
			g.found = append(g.found, checkFirst(name, sentences)...)
		}
	}
	if !g.test {
		ast.Inspect(file, g.checkNode)
	}
	return g.found, nil
}

func (g *goFile) line(p token.Pos) int { return g.set.Position(p).Line }

// declarations returns the doc comments of declarations. The value for a comment is true if the
// declared identifier is exported.
func (g *goFile) declarations() map[*ast.CommentGroup]bool {
	docs := map[*ast.CommentGroup]bool{}
	add := func(c *ast.CommentGroup, names ...*ast.Ident) {
		if c == nil {
			return
		}
		docs[c] = docs[c] || len(names) > 0 && names[0] != nil && names[0].IsExported()
	}
	add(g.file.Doc)
	ast.Inspect(g.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Doc, n.Name)
		case *ast.GenDecl:
			add(n.Doc, declared(n))
		case *ast.TypeSpec:
			add(n.Doc, n.Name)
		case *ast.ValueSpec:
			add(n.Doc, n.Names...)
		case *ast.Field:
			add(n.Doc, n.Names...)
		}
		return true
	})
	return docs
}

// declared returns the first name of a declaration, or nil for imports.
func declared(d *ast.GenDecl) *ast.Ident {
	if len(d.Specs) == 0 {
		return nil
	}
	switch s := d.Specs[0].(type) {
	case *ast.TypeSpec:
		return s.Name
	case *ast.ValueSpec:
		return s.Names[0]
	}
	return nil
}

// checkNode checks the names and string literals of a syntax node. It returns whether to visit
// the children of the node.
func (g *goFile) checkNode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.FuncDecl:
		g.checkName(n.Name, true)
	case *ast.TypeSpec:
		g.checkName(n.Name, false)
	case *ast.InterfaceType:
		for _, m := range n.Methods.List {
			for _, name := range m.Names {
				g.checkName(name, true)
			}
		}
	case *ast.StructType:
		for _, f := range n.Fields.List {
			for _, name := range f.Names {
				g.checkName(name, false)
			}
		}
	case *ast.BasicLit:
		g.checkLiteral(n)
	}
	return true
}

// checkName reports a name that docs/style.md forbids. The rule about bare verbs applies only to
// functions and methods.
func (g *goFile) checkName(name *ast.Ident, function bool) {
	lower := strings.ToLower(name.Name[:1]) + name.Name[1:]
	switch {
	case function && bare[lower] && name.Name != "Run":
		g.found = append(g.found, Finding{g.name, g.line(name.Pos()), BareName, name.Name})
	case keepPrefix.MatchString(name.Name) && !keeping[lower]:
		g.found = append(g.found, Finding{g.name, g.line(name.Pos()), KeepName, name.Name})
	case name.Name != "Run" && privateIn(path.Dir(g.name))[lower]:
		g.found = append(g.found, Finding{g.name, g.line(name.Pos()), PrivateWord, name.Name})
	}
}

// privateIn returns the private words for a folder. If the folder has no list, the list of the
// nearest parent folder applies.
func privateIn(dir string) map[string]bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if words, ok := private[dir]; ok {
			return words
		}
	}
	return nil
}

// checkLiteral checks a string literal of more than three words: a message, a
// help text, or the description in a struct tag.
func (g *goFile) checkLiteral(l *ast.BasicLit) {
	if l.Kind != token.STRING {
		return
	}
	text, err := strconv.Unquote(l.Value)
	if err != nil || len(strings.Fields(text)) <= 3 {
		return
	}
	g.found = append(g.found, checkPhrases(g.name, splitSentences(text, g.line(l.Pos())))...)
}
