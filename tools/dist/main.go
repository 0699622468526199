// Command dist builds the files of a release.
//
//	binaries   two static programs per platform, each in an archive with its documents: varve, and
//	           varve-agent for small devices
//	packages   a deb and an rpm per Linux binary, with a systemd unit; those of varve also have
//	           man pages and completions
//	image      one OCI image of varve for all Linux platforms, as an archive of an OCI layout
//	SBOMs      one CycloneDX document per binary
//	SHA256SUMS the checksums of all of them
//
// Two runs on the same commit with the same Go write the same bytes. Paths are trimmed. Every
// time in a file is SOURCE_DATE_EPOCH, or else the time of the commit.
//
// The command runs no container daemon and needs no root privileges. See docs/releasing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// allPlatforms lists the platforms of a release as GOOS/GOARCH. For arm, GOARM follows.
const allPlatforms = "linux/amd64,linux/arm64,linux/arm/7,darwin/amd64,darwin/arm64,windows/amd64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := execute(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1) //nolint:forbidigo // only main exits
	}
}

// release is one run of the command.
type release struct {
	root    string // root folder of the repository
	out     string // folder for the files of the release
	work    string // folder for temporary files
	version version
	time    time.Time // modification time of all files of the release
	log     io.Writer
}

func execute(ctx context.Context, args []string, log io.Writer) (err error) {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	root := flags.String("root", ".", "the repository's `folder`")
	out := flags.String("out", "dist", "the `folder` to write to, below the repository; it is emptied first")
	names := flags.String("platforms", allPlatforms, "`platforms`, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms, err := parsePlatforms(*names)
	if err != nil {
		return err
	}
	r := &release{log: log}
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	r.out = filepath.Join(r.root, *out)
	if err := r.readVersion(ctx); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "varve-dist-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	return r.build(ctx, platforms)
}

func (r *release) build(ctx context.Context, platforms []platform) error {
	var built, agents []binary
	for _, p := range platforms {
		b, err := r.compile(ctx, p, mainProgram)
		if err != nil {
			return err
		}
		a, err := r.compile(ctx, p, agentProgram)
		if err != nil {
			return err
		}
		built, agents = append(built, b), append(agents, a)
	}
	documents, err := r.writeDocuments(ctx, built)
	if err != nil {
		return err
	}
	for _, b := range built {
		if err := r.writeArchive(b, documents); err != nil {
			return err
		}
		if err := r.writeSBOM(b); err != nil {
			return err
		}
		if b.os != "linux" {
			continue
		}
		if err := r.writePackages(b, documents); err != nil {
			return err
		}
	}
	for _, a := range agents {
		if err := errors.Join(r.writeArchive(a, nil), r.writeSBOM(a)); err != nil {
			return err
		}
		if a.os != "linux" {
			continue
		}
		if err := r.writePackages(a, nil); err != nil {
			return err
		}
	}
	if err := r.writeImage(built); err != nil {
		return err
	}
	return r.writeSums()
}

// platform is an operating system and a processor.
type platform struct{ os, arch, arm string }

func parsePlatforms(names string) (all []platform, err error) {
	for _, name := range strings.Split(names, ",") {
		parts := strings.Split(name, "/")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("platforms: %q is not OS/ARCH: use some of %s", name, allPlatforms)
		}
		p := platform{os: parts[0], arch: parts[1]}
		if len(parts) == 3 {
			p.arm = parts[2]
		}
		all = append(all, p)
	}
	return all, nil
}

// String returns the platform as it stands in file names, such as linux_armv7.
func (p platform) String() string {
	if p.arm != "" {
		return p.os + "_" + p.arch + "v" + p.arm
	}
	return p.os + "_" + p.arch
}

func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}
