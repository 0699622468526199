package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The programs. Each is a folder of cmd.
const (
	mainProgram  = "varve"
	agentProgram = "varve-agent"
)

// binary is a program for one platform.
type binary struct {
	platform

	name string // name of the program
	path string // path of the built file
}

// file returns the name of the binary's archive and SBOM, without their extensions.
func (b binary) file(version string) string {
	return fmt.Sprintf("%s_%s_%s", b.name, version, b.platform)
}

func (r *release) compile(ctx context.Context, p platform, name string) (binary, error) {
	path := filepath.Join(r.work, p.String(), p.program(name))
	fmt.Fprintln(r.log, "building", name, p)
	return binary{p, name, path}, r.goBuild(ctx, p, name, path)
}

// goBuild builds a program as make build does. The program records the state of the repository if Go
// can read it.
func (r *release) goBuild(ctx context.Context, p platform, name, path string) error {
	// The flag -buildvcs is auto, because Go cannot read the state of a linked working tree.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto",
		"-ldflags", "-s -w -X main.version="+r.version.described, "-o", path, "./cmd/"+name)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch, "GOARM="+p.arm, "GOAMD64=v1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", name, p, err, text)
	}
	return nil
}

// document is a file that accompanies a program.
type document struct {
	path string
	kind documentKind
}

type documentKind int

const (
	manPage documentKind = iota
	bashCompletion
	zshCompletion
	fishCompletion
	grafanaFile
)

// hostProgram returns the path of varve for this machine. If it is not built yet, hostProgram builds it.
func (r *release) hostProgram(ctx context.Context, built []binary) (string, error) {
	host := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	for _, b := range built {
		if b.platform == host && b.name == mainProgram {
			return b.path, nil
		}
	}
	b, err := r.compile(ctx, host, mainProgram)
	return b.path, err
}

// writeDocuments runs varve to write its man pages and completions. It returns these files and the files
// for Grafana.
func (r *release) writeDocuments(ctx context.Context, built []binary) ([]document, error) {
	program, err := r.hostProgram(ctx, built)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.work, "man")
	cmd := exec.CommandContext(ctx, program, "man", dir)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("varve man: %w\n%s", err, text)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("varve man wrote no pages: %w", err)
	}
	var all []document
	for _, page := range pages {
		zipped, err := gzipFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, document{zipped, manPage})
	}
	for shell, kind := range map[string]documentKind{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion} {
		text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("varve completion %s: %w", shell, err)
		}
		path := filepath.Join(r.work, "varve."+shell)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
		all = append(all, document{path, kind})
	}
	return r.addGrafana(all)
}

const grafanaFolder = "contrib/grafana"

func (r *release) addGrafana(all []document) ([]document, error) {
	err := filepath.WalkDir(filepath.Join(r.root, filepath.FromSlash(grafanaFolder)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, document{path, grafanaFile})
		}
		return err
	})
	return all, err
}

// installed returns the path of a document below /usr.
func (d document) installed() string {
	switch d.kind {
	case bashCompletion:
		return "share/bash-completion/completions/varve"
	case zshCompletion:
		return "share/zsh/site-functions/_varve"
	case fishCompletion:
		return "share/fish/vendor_completions.d/varve.fish"
	case grafanaFile:
		_, below, _ := strings.Cut(filepath.ToSlash(d.path), grafanaFolder+"/")
		return "share/varve/grafana/" + below
	default:
		return "share/man/man1/" + filepath.Base(d.path)
	}
}

// archived returns the path of a document in the archive of a release. The path has no folder
// varve, because the program has that name in the archive.
func (d document) archived() string {
	return strings.TrimPrefix(strings.TrimPrefix(d.installed(), "share/"), "varve/")
}
