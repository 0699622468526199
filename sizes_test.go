package varve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	pathpkg "path"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes_OfFilesAndFunctions checks that no Go file of the repository, tests included, has more
// than 400 lines, and no function more than 60. Generated files are exempt.
func TestSizes_OfFilesAndFunctions(t *testing.T) {
	const maxFile, maxFunc = 400, 60
	eachGoFile(t, func(path string, set *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		if n := lineCount(set, f); n > maxFile {
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

// lineCount returns the number of lines of a file. A token.File counts no line after a final newline.
func lineCount(set *token.FileSet, f *ast.File) int { return set.File(f.Pos()).LineCount() }

// TestSizes_OfRoot checks that the root package, without its tests, has fewer than 900 lines. It has only
// the vocabulary: other code belongs to another package.
func TestSizes_OfRoot(t *testing.T) {
	const limit = 900
	lines := 0
	eachGoFile(t, func(path string, set *token.FileSet, f *ast.File) {
		if pathpkg.Dir(path) == "." && !isTest(path) {
			lines += lineCount(set, f)
		}
	})
	if lines >= limit || lines == 0 {
		t.Errorf("the root package has %d lines, want fewer than %d", lines, limit)
	}
}

// TestSizes_OfTypes checks that no type has more than 30 methods of its own. Methods of embedded
// types do not count.
func TestSizes_OfTypes(t *testing.T) {
	const most = 30
	methods := map[string]int{}
	eachGoFile(t, func(path string, _ *token.FileSet, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || ast.IsGenerated(f) || isTest(path) {
				continue
			}
			methods[pathpkg.Dir(path)+"."+receiverName(fn.Recv.List[0].Type)]++
		}
	})
	if len(methods) < 100 {
		t.Errorf("only %d types with methods were found", len(methods))
	}
	for name, n := range methods {
		if n > most {
			t.Errorf("%s has %d methods, want at most %d: give a part of its state a type of its own", name, n, most)
		}
	}
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// eachGoFile calls the function "visit" with every Go file of the repository, parsed with its comments.
// It skips hidden folders and folders named testdata.
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
