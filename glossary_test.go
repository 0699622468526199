package varve_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	glossaryEntry = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\* \(([^)]*)\)`)
	codeSpan      = regexp.MustCompile("`([^`]+)`")
	goName        = regexp.MustCompile(`^([a-z]\w*(\.[A-Z]\w*){1,2}|[A-Z]\w*\.[A-Z]\w*|[A-Z][a-z]\w*)$`)
)

// TestGlossary_NamesExist checks that each name in docs/glossary.md exists in the code. The names
// are the packages and identifiers in parentheses after a term, and all other code spans that
// look like exported Go identifiers.
func TestGlossary_NamesExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	decls := declaredNames(t)
	entries := glossaryEntry.FindAllStringSubmatch(string(text), -1)
	if len(entries) < 90 {
		t.Errorf("%d entries with a name, want at least 90: the format of the page has changed", len(entries))
	}
	for _, e := range entries {
		for _, span := range codeSpan.FindAllStringSubmatch(e[2], -1) {
			if !decls.has(span[1]) {
				t.Errorf("%s: %s is neither a package nor a Go identifier", e[1], span[1])
			}
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
		if goName.MatchString(span[1]) && !decls.has(span[1]) {
			t.Errorf("%s looks like a Go identifier, and none has this name", span[1])
		}
	}
}

// TestGlossary_DetectsWrongNames checks that the lookup finds existing names, and no others.
func TestGlossary_DetectsWrongNames(t *testing.T) {
	decls := declaredNames(t)
	for name, want := range map[string]bool{
		"varve.Reading": true, "Reading.Time": true, "rotator.Policy.Seal": true, "store/local": true, "alerts.evaluate": true,
		"store.Lifecycle": true, "varve.Readings": false, "Reading.Tim": false, "rotator.Policy.Sealed": false, "store/locals": false,
		"store.Reading": false, "Policy.Reading": false, "Nothing": false,
	} {
		if got := decls.has(name); got != want {
			t.Errorf("%s exists: %t, want %t", name, got, want)
		}
	}
}

// names is the set of all packages and declarations of the module. A package is listed by its
// folder and by its name. A declaration is listed with and without its package, as in
// "local.Store.Verify" and "Store.Verify".
type names map[string]struct{}

func (n names) has(name string) bool {
	_, ok := n[name]
	return ok
}

// add adds a declaration, with and without its package.
func (n names) add(pkg string, parts ...string) {
	name := strings.Join(parts, ".")
	n[name], n[pkg+"."+name] = struct{}{}, struct{}{}
}

func declaredNames(t *testing.T) names {
	t.Helper()
	all := names{}
	eachGoFile(t, func(file string, _ *token.FileSet, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		all[path.Dir(file)], all[f.Name.Name] = struct{}{}, struct{}{}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all.add(f.Name.Name, append(receiverOf(d), d.Name.Name)...)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					all.addSpec(f.Name.Name, spec)
				}
			}
		}
	})
	return all
}

// receiverOf returns a slice with the type name of a method's receiver. For a function without a
// receiver, it returns nil.
func receiverOf(fn *ast.FuncDecl) []string {
	if fn.Recv == nil {
		return nil
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	return []string{of.(*ast.Ident).Name} //nolint:forcetypeassert // the grammar permits nothing else
}

// addSpec adds constants and variables, or a type with its fields or methods.
func (n names) addSpec(pkg string, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			n.add(pkg, id.Name)
		}
	case *ast.TypeSpec:
		n.add(pkg, s.Name.Name)
		var members *ast.FieldList
		switch of := s.Type.(type) {
		case *ast.StructType:
			members = of.Fields
		case *ast.InterfaceType:
			members = of.Methods
		default:
			return
		}
		for _, f := range members.List { // embedded fields and interfaces have no names
			for _, id := range f.Names {
				n.add(pkg, s.Name.Name, id.Name)
			}
		}
	}
}
