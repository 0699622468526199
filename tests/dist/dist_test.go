package dist

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// platforms lists the platforms for which the tests build a release. The default is the platform of
// this machine, and a 32-bit one. This command tests all platforms of Linux, and takes minutes
// longer:
//
//	go test ./tests/dist -platforms linux/amd64,linux/arm64,linux/arm/7
var platforms = flag.String("platforms", "linux/"+runtime.GOARCH+",linux/arm/7", "platforms of Linux to build")

const root = "../.."

// twice has the two builds of the release, in different folders.
var twice struct {
	once        sync.Once
	dir         string
	first, next string
	err         error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if twice.dir != "" {
		if err := os.RemoveAll(twice.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // as every TestMain must
}

// release returns the folder of the first build.
func release(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a release takes minutes to build")
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skipf("a release is built from a clone of the repository: %v", err)
	}
	twice.once.Do(func() {
		if twice.dir, twice.err = os.MkdirTemp("", "varve-releases-"); twice.err != nil {
			return
		}
		if twice.first, twice.err = buildClone(filepath.Join(twice.dir, "one")); twice.err == nil {
			twice.next, twice.err = buildClone(filepath.Join(twice.dir, "some", "other", "folder"))
		}
	})
	if twice.err != nil {
		t.Fatal(twice.err)
	}
	return twice.first
}

// architectures returns the architectures for which the tests build a release, such as arm/7.
func architectures() (all []string) {
	for _, p := range strings.Split(*platforms, ",") {
		all = append(all, strings.TrimPrefix(p, "linux/"))
	}
	return all
}

// buildClone clones the last commit into a folder and builds a release there.
func buildClone(dir string) (out string, err error) {
	for _, args := range [][]string{
		{"git", "clone", "--quiet", "--no-hardlinks", root, dir},
		{"go", "run", "-C", filepath.Join(dir, "tools", "dist"), ".", "-root", "../..", "-platforms", *platforms},
	} {
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", args, err, text)
		}
	}
	return filepath.Join(dir, "dist"), nil
}

// find returns the only file of the release whose name matches a pattern.
func find(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, want 1: %v %v", pattern, len(found), found, err)
	}
	return found[0]
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	text, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return string(text)
}

// TestRelease_IsReproducible compares two builds of one commit in different folders.
func TestRelease_IsReproducible(t *testing.T) {
	one, err := os.ReadFile(filepath.Join(release(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(filepath.Join(twice.next, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Errorf("two builds differ:\n%s\n%s", one, two)
	}
	// A release has an archive, an SBOM, a deb and an rpm per platform and program, and one image.
	if lines, want := strings.Count(string(one), "\n"), 8*len(architectures())+1; lines != want {
		t.Errorf("%d files, want %d:\n%s", lines, want, one)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = release(t)
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, text)
	}
}

// TestBinaries_AreStatic checks that no binary needs an interpreter or a library. Each binary must
// be built for the architecture of its archive.
func TestBinaries_AreStatic(t *testing.T) {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM}
	for _, name := range architectures() {
		arch := strings.Replace(name, "/", "v", 1)
		for _, path := range []string{filepath.Join(unpacked(t, arch), "varve"), filepath.Join(unpackedAgent(t, arch), "varve-agent")} {
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			family, _, _ := strings.Cut(name, "/")
			if f.Machine != machines[family] {
				t.Errorf("%s is for %s, want %s", name, f.Machine, machines[family])
			}
			for _, p := range f.Progs {
				if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
					t.Errorf("%s is not static: it has %s", path, p.Type)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAgentArchive_HasDocuments checks that the archive of the agent has its guide, settings and unit.
func TestAgentArchive_HasDocuments(t *testing.T) {
	dir := unpackedAgent(t, runtime.GOARCH)
	for _, name := range []string{"LICENSE", "agent.md", "varve-agent.yaml", "varve-agent.service"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if text := run(t, filepath.Join(dir, "varve-agent"), "config", "check", "--config", filepath.Join(dir, "varve-agent.yaml")); !strings.Contains(text, "is good") {
		t.Errorf("%s", text)
	}
}

// TestBinary_StatesCommit checks that the program prints the version that git describes. The binary
// must record the commit.
func TestBinary_StatesCommit(t *testing.T) {
	program := filepath.Join(unpacked(t, runtime.GOARCH), "varve")
	commit := strings.TrimSpace(run(t, "git", "-C", root, "rev-parse", "HEAD"))
	described := strings.TrimSpace(run(t, "git", "-C", root, "describe", "--tags", "--always"))
	if got := run(t, program, "version"); got != "varve "+described+"\n" {
		t.Errorf("varve version prints %q, want %q", got, described)
	}
	if info := run(t, "go", "version", "-m", program); !strings.Contains(info, "vcs.revision="+commit) || !strings.Contains(info, "vcs.modified=false") {
		t.Errorf("the binary has not recorded commit %s:\n%s", commit, info)
	}
}

// TestArchive_HasDocuments checks that an archive has the documents of the program. A man page must
// have the name of its command.
func TestArchive_HasDocuments(t *testing.T) {
	dir := unpacked(t, runtime.GOARCH)
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "varve.service", "man/man1/varve.1.gz", "man/man1/varve-tables-list.1.gz", "bash-completion/completions/varve", "zsh/site-functions/_varve", "fish/vendor_completions.d/varve.fish", "grafana/dashboards/varve-fleet.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	page := run(t, "gzip", "-dc", filepath.Join(dir, "man/man1/varve-serve.1.gz"))
	if !regexp.MustCompile(`(?m)^\.SH NAME\nvarve-serve - Start the service$`).MatchString(page) {
		t.Errorf("the page of varve serve has no name:\n%.500s", page)
	}
}

// TestSBOM_ListsModules compares the SBOM of a binary with the modules in it.
func TestSBOM_ListsModules(t *testing.T) {
	data, err := os.ReadFile(find(t, "varve_*_linux_"+runtime.GOARCH+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Format     string `json:"bomFormat"`
		Components []struct {
			Name, Version string
		}
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range bom.Components {
		listed[c.Name+" "+c.Version] = true
	}
	info := run(t, "go", "version", "-m", filepath.Join(unpacked(t, runtime.GOARCH), "varve"))
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(info, -1)
	for _, m := range modules {
		if !listed[m[1]+" "+m[2]] {
			t.Errorf("the SBOM lacks %s %s", m[1], m[2])
		}
	}
	if len(modules) < 20 || bom.Format != "CycloneDX" || len(listed) != len(modules)+1 {
		t.Errorf("%s with %d components for %d modules and the standard library", bom.Format, len(listed), len(modules))
	}
}

// unpacked unpacks the archive of varve for an architecture, and returns the folder with the
// program.
func unpacked(t *testing.T, arch string) string { return unpackedProgram(t, "varve", arch) }

// unpackedAgent unpacks the archive of the agent, and returns the folder with the program.
func unpackedAgent(t *testing.T, arch string) string { return unpackedProgram(t, "varve-agent", arch) }

func unpackedProgram(t *testing.T, program, arch string) string {
	t.Helper()
	archive := find(t, program+"_*_linux_"+arch+".tar.gz")
	dir := t.TempDir()
	run(t, "tar", "-C", dir, "-xzf", archive)
	return filepath.Join(dir, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
}
