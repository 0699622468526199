package varve_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered lists the packages whose files use each other in one direction only.
var layered = []string{"alerts", "devicelog", "devices", "grid", "registry", "rollup"}

// TestFiles_UseEachOtherInOneDirection fails if the production files of a listed package form a cycle.
// File x.go uses file y.go if it names a top-level function, type, constant or variable of y.go. Methods
// do not count, because a type may have methods in several files.
func TestFiles_UseEachOtherInOneDirection(t *testing.T) {
	for _, dir := range layered {
		uses := fileUses(t, dir)
		if len(uses) == 0 {
			t.Errorf("package %s has no uses between files", dir)
		}
		if cycle := findCycle(uses); cycle != nil {
			t.Errorf("the files of package %s form a cycle: move the shared definitions to the lower file:", dir)
			for i := 1; i < len(cycle); i++ {
				t.Errorf("  %s uses %s: %s", cycle[i-1], cycle[i], uses[cycle[i-1]][cycle[i]])
			}
		}
	}
}

// TestFindCycle_ReturnsPath checks findCycle with small graphs.
func TestFindCycle_ReturnsPath(t *testing.T) {
	graph := func(edges ...string) map[string]map[string]string {
		uses := map[string]map[string]string{}
		for _, e := range edges {
			from, to := e[:1], e[1:]
			if uses[from] == nil {
				uses[from] = map[string]string{}
			}
			uses[from][to] = "x"
		}
		return uses
	}
	if got := findCycle(graph("ab", "bc", "ac", "dc")); got != nil {
		t.Errorf("a graph without cycles: %v, want none", got)
	}
	if got := fmt.Sprint(findCycle(graph("ab", "bc", "cd", "db"))); got != "[b c d b]" {
		t.Errorf("cycle %s, want [b c d b]", got)
	}
}

// fileUses returns the uses between the files of a package. The keys are the using file and then
// the used file. The value lists the used names of the second file, separated by spaces.
func fileUses(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := []*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	// Replace every import with an empty package. Names from imported packages are then unresolved,
	// but the test needs only the names that the checked package declares.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: emptyImporter{}, Error: func(error) {}}
	pkg, _ := conf.Check(module+"/"+dir, set, files, info) // errors are expected: imported names are missing
	uses := map[string]map[string]string{}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg || obj.Parent() != pkg.Scope() {
			continue
		}
		from, to := fileOf(set, id.Pos()), fileOf(set, obj.Pos())
		if from == to {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]string{}
		}
		if names := strings.Fields(uses[from][to]); !slices.Contains(names, obj.Name()) {
			uses[from][to] = strings.Join(slices.Sorted(slices.Values(append(names, obj.Name()))), " ")
		}
	}
	return uses
}

func fileOf(set *token.FileSet, pos token.Pos) string {
	return filepath.Base(set.Position(pos).Filename)
}

type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// findCycle returns the files along a cycle, with the first file repeated at the end. It returns
// nil if no cycle exists.
func findCycle(uses map[string]map[string]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if at := slices.Index(path, file); at >= 0 {
			return append(slices.Clone(path[at:]), file)
		}
		if done[file] {
			return nil
		}
		path = append(path, file)
		for _, next := range slices.Sorted(maps.Keys(uses[file])) {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		path, done[file] = path[:len(path)-1], true
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if cycle := visit(file); cycle != nil {
			return cycle
		}
	}
	return nil
}
