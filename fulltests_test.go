package varve_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reduced has the functions of other packages that make a test run a part of its cases with the race
// detector. The value is true if they do so only in a package whose TestMain calls randomtest.RunTests.
var reduced = map[string]bool{
	"randomtest.Part": false, "randomtest.LimitChecks": false, "randomtest.WithRaceDetector": false,
	"rapid.Check": true, "storetest.Compare": true,
}

// testFunctions has the functions of the test files of a package, with the names that each uses. A function of
// another package has the name of that package, as in rapid.Check.
type testFunctions map[string][]string

func (f testFunctions) add(file *ast.File) {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok {
					f[fn.Name.Name] = append(f[fn.Name.Name], of.Name+"."+n.Sel.Name)
				}
			case *ast.Ident:
				f[fn.Name.Name] = append(f[fn.Name.Name], n.Name)
			}
			return true
		})
	}
}

// isReduced reports whether a function, or a function of the package that it uses, is reduced.
func (f testFunctions) isReduced(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(f[name], func(used string) bool {
		ofMain, ok := reduced[used]
		if ok && (!ofMain || slices.Contains(f["TestMain"], "randomtest.RunTests")) {
			return true
		}
		return f[used] != nil && f.isReduced(used, seen)
	})
}

// TestMakefile_RunsReducedTestsInFull finds the tests that run only a part of their cases with the race
// detector. The command make test must run each of them once more without it.
func TestMakefile_RunsReducedTestsInFull(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		_, rest, _ := strings.Cut(string(text), "\n"+name+" = ")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	full, folders := regexp.MustCompile(value("FULL")), strings.Fields(value("FULL_PACKAGES"))
	packages := map[string]testFunctions{}
	eachGoFile(t, func(file string, _ *token.FileSet, f *ast.File) {
		if isTest(file) {
			if packages[path.Dir(file)] == nil {
				packages[path.Dir(file)] = testFunctions{}
			}
			packages[path.Dir(file)].add(f)
		}
	})
	found := 0
	for dir, functions := range packages {
		for name := range functions {
			if !strings.HasPrefix(name, "Test") || name == "TestMain" || !functions.isReduced(name, map[string]bool{}) {
				continue
			}
			if found++; !full.MatchString(name) || !slices.Contains(folders, "./"+dir) {
				t.Errorf("%s: %s runs only in part: FULL and FULL_PACKAGES of the Makefile lack it", dir, name)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d tests run only in part, want at least 20", found)
	}
}
