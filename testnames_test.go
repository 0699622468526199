package varve_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// testName matches the name of a test: a subject and an expectation.
	testName = regexp.MustCompile(`^Test[A-Z]\w*_[A-Z]\w*$`)
	// testInText matches the name of a test in a text, with its package if it has one.
	testInText = regexp.MustCompile(`(-run\s+)?\b(?:(\w+)\.)?(Test[A-Z]\w*)`)
)

// testNames has the packages of the tests of the repository, by the names of the tests. A package is named
// by the last part of its folder.
func testNames(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	eachGoFile(t, func(file string, _ *token.FileSet, f *ast.File) {
		if !isTest(file) {
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				all[fn.Name.Name] = append(all[fn.Name.Name], path.Base(path.Dir(file)))
			}
		}
	})
	return all
}

// TestTestNames_HaveSubjectAndExpectation checks that each test is named by its subject and its expectation,
// as in TestDeadman_ResolvesAlertOpenedByPeer.
func TestTestNames_HaveSubjectAndExpectation(t *testing.T) {
	for name, packages := range testNames(t) {
		if !testName.MatchString(name) {
			t.Errorf("%s in %s: name it by subject and expectation: TestSubject_Expectation", name, strings.Join(packages, ", "))
		}
	}
}

// TestTestNames_CitedInDocsExist checks that documents cite only tests that exist. After -run, a part of a
// name is enough.
func TestTestNames_CitedInDocsExist(t *testing.T) {
	tests, cited := testNames(t), 0
	exists := func(run, pkg, name string) bool {
		if run != "" {
			return slices.ContainsFunc(slices.Collect(maps.Keys(tests)), func(n string) bool { return strings.Contains(n, name) })
		}
		packages, ok := tests[name]
		return ok && (pkg == "" || slices.Contains(packages, pkg))
	}
	eachDocument(t, func(file, text string) {
		for _, m := range testInText.FindAllStringSubmatch(text, -1) {
			if cited++; !exists(m[1], m[2], m[3]) {
				t.Errorf("%s cites %s, which is not a test", file, strings.TrimSpace(m[0]))
			}
		}
	})
	if cited < 50 {
		t.Errorf("%d citations of tests found, want at least 50: the pattern has an error", cited)
	}
}

// eachDocument calls the function "visit" with each Markdown file of the repository, except the
// changelog, which is history. It skips hidden folders and folders named testdata.
func eachDocument(t *testing.T, visit func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || file != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".md" || file == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil {
			visit(filepath.ToSlash(file), string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
