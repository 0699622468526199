// Command generate makes the embedded files of the console from its readable sources.
//
//	Go module proxy ─ uPlot ─┐
//	                         ├─▶ compare the checksum ─▶ source/lib ─┐
//	npm registry ─ htm ──────┘                                       ├─▶ esbuild ─▶ assets
//	                                                       source ───┘
//
// Run it with go generate ./console. Each library is a pinned dependency. If a checksum differs,
// the run fails and changes no file. Copies and assets are committed, because go install does not
// run go generate. With -offline, the committed copies are used.
//
// esbuild joins the modules and removes unused code. Before that, templates become calls, the
// unused features of uPlot are turned off, and the variables of style sheets get short names. The
// package is a module of its own, so that Varve does not depend on esbuild.
package main

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// library is a pinned dependency, and the files that the console uses.
type library struct {
	name, version string
	// sum is the checksum of the whole package. A Go module has the sum of go.sum, and an npm package has
	// the sum of package-lock.json.
	sum string
	// download stores the library below the folder dir or in a cache, and checks its sum. The result
	// "root" is the folder of the library.
	download func(ctx context.Context, l *library, dir string) (root string, err error)
	files    map[string]string // path in the package, by the name of the copy in source/lib
}

var libraries = []library{
	{
		name: "github.com/leeoniya/uPlot", version: "v0.0.0-20250314024639-e995b061e9fc", // release 1.6.32
		sum: "h1:urYfRKvj8rGMiRAMJPF6o85zHSOMGFKMiOo9z9QMMUw=", download: fromProxy,
		files: map[string]string{
			"uplot/uPlot.js": "src/uPlot.js", "uplot/dom.js": "src/dom.js", "uplot/domClasses.js": "src/domClasses.js", "uplot/fmtDate.js": "src/fmtDate.js",
			"uplot/opts.js": "src/opts.js", "uplot/strings.js": "src/strings.js", "uplot/sync.js": "src/sync.js", "uplot/utils.js": "src/utils.js",
			"uplot/paths/bars.js": "src/paths/bars.js", "uplot/paths/catmullRomCentrip.js": "src/paths/catmullRomCentrip.js", "uplot/paths/linear.js": "src/paths/linear.js",
			"uplot/paths/monotoneCubic.js": "src/paths/monotoneCubic.js", "uplot/paths/points.js": "src/paths/points.js", "uplot/paths/spline.js": "src/paths/spline.js",
			"uplot/paths/stepped.js": "src/paths/stepped.js", "uplot/paths/utils.js": "src/paths/utils.js", "uplot/uPlot.css": "src/uPlot.css", "LICENSE-uplot": "LICENSE",
		},
	},
	{
		name: "htm", version: "3.1.1", // contains preact 10
		sum:      "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
		download: fromNPM,
		files:    map[string]string{"preact.js": "preact/standalone.module.js", "LICENSE-htm": "LICENSE"},
	},
}

func main() {
	offline := flag.Bool("offline", false, "use the committed copies of libraries")
	flag.Parse()
	if err := generate(context.Background(), "..", *offline); err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// generate writes the copies of libraries, unless "offline" is true, and then the embedded files.
func generate(ctx context.Context, console string, offline bool) error {
	source := filepath.Join(console, "source")
	if !offline {
		files, err := readAll(ctx)
		if err != nil {
			return err
		}
		if err := writeAll(filepath.Join(source, "lib"), files); err != nil {
			return err
		}
	}
	assets, err := build(source)
	if err != nil {
		return err
	}
	return writeAll(filepath.Join(console, "assets"), assets)
}

// writeAll writes the files of a list into a folder, and deletes all others there.
func writeAll(dir string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return removeOthers(dir, files)
}

// readAll downloads all libraries, and returns the files that the console uses by name.
func readAll(ctx context.Context) (map[string][]byte, error) {
	all := map[string][]byte{}
	for i := range libraries {
		if err := libraries[i].read(ctx, all); err != nil {
			return nil, fmt.Errorf("%s %s: %w", libraries[i].name, libraries[i].version, err)
		}
	}
	return all, nil
}

func (l *library) read(ctx context.Context, into map[string][]byte) (err error) {
	dir, err := os.MkdirTemp("", "varve-console")
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.RemoveAll(dir); err == nil {
			err = gone
		}
	}()
	root, err := l.download(ctx, l, dir)
	if err != nil {
		return err
	}
	for name, path := range l.files {
		if into[name], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(path))); err != nil {
			return err
		}
	}
	return nil
}

// fromProxy downloads a Go module. Go checks it against the checksum database, too.
func fromProxy(ctx context.Context, l *library, dir string) (string, error) {
	text, err := output(ctx, dir, "go", "mod", "download", "-json", l.name+"@"+l.version)
	if err != nil {
		return "", err
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(text, &got); err != nil {
		return "", fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return got.Dir, l.check(got.Sum)
}

// fromNPM downloads a package of npm and unpacks it. No script of the package runs.
func fromNPM(ctx context.Context, l *library, dir string) (string, error) {
	if _, err := output(ctx, dir, "npm", "pack", "--silent", l.name+"@"+l.version); err != nil {
		return "", err
	}
	file := filepath.Join(dir, l.name+"-"+l.version+".tgz")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha512.Sum512(text)
	if err := l.check("sha512-" + base64.StdEncoding.EncodeToString(sum[:])); err != nil {
		return "", err
	}
	_, err = output(ctx, dir, "tar", "xzf", file)
	return filepath.Join(dir, "package"), err
}

func (l *library) check(sum string) error {
	if sum != l.sum {
		return fmt.Errorf("the sum is %s, want %s", sum, l.sum)
	}
	return nil
}

// output runs a program in a folder and returns its standard output.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, failure bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &failure
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(failure.Bytes()))
	}
	return out.Bytes(), nil
}
