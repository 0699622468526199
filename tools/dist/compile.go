package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// binary is the program for one platform.
type binary struct {
	platform

	path string
}

// compile builds the program for a platform.
func (r *release) compile(ctx context.Context, p platform) (binary, error) {
	path := filepath.Join(r.work, p.String(), p.program())
	fmt.Fprintln(r.log, "building", p)
	return binary{p, path}, r.goBuild(ctx, p, path)
}

// goBuild builds the program as make build does. The program records the state of the repository.
func (r *release) goBuild(ctx context.Context, p platform, path string) error {
	// The flag -buildvcs is auto, because Go cannot read the state of a linked working tree.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto",
		"-ldflags", "-s -w -X main.version="+r.version.described, "-o", path, "./cmd/varve")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch, "GOARM="+p.arm, "GOAMD64=v1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p, err, text)
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
)

// hostProgram returns the path of the program for this machine. If it is not built yet, hostProgram
// builds it.
func (r *release) hostProgram(ctx context.Context, built []binary) (string, error) {
	host := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	for _, b := range built {
		if b.platform == host {
			return b.path, nil
		}
	}
	b, err := r.compile(ctx, host)
	return b.path, err
}

// writeDocuments lets the program write its man pages and completions.
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
	return all, nil
}

// installed returns the place of a document below /usr.
func (d document) installed() string {
	switch d.kind {
	case bashCompletion:
		return "share/bash-completion/completions/varve"
	case zshCompletion:
		return "share/zsh/site-functions/_varve"
	case fishCompletion:
		return "share/fish/vendor_completions.d/varve.fish"
	default:
		return "share/man/man1/" + filepath.Base(d.path)
	}
}

// archived returns the place of a document in an archive.
func (d document) archived() string { return strings.TrimPrefix(d.installed(), "share/") }
