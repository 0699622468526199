package varve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes checks that no Go file of the module, tests included, has more than 400 lines,
// and no function more than 60. Generated files are exempt.
func TestSizes(t *testing.T) {
	const maxFile, maxFunc = 400, 60
	eachGoFile(t, func(path string, set *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		if n := set.File(f.Pos()).LineCount() - 1; n > maxFile {
			t.Errorf("%s has %d lines, want at most %d", path, n, maxFile)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > maxFunc {
				t.Errorf("%s: %s has %d lines, want at most %d", path, fn.Name.Name, n, maxFunc)
			}
		}
	})
}

// eachGoFile calls visit with every Go file of the module, parsed with its comments.
func eachGoFile(t *testing.T, visit func(path string, set *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err == nil {
			visit(filepath.ToSlash(path), set, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
