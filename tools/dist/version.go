package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// version is the version of a release in its two forms.
type version struct {
	described string // as git describes the commit, and as varve version prints it
	packaged  string // a semantic version without the prefix v, as package managers order it
}

// readVersion reads the version and the time of the release from git.
func (r *release) readVersion(ctx context.Context) error {
	described, err := r.git(ctx, "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return fmt.Errorf("%w: a release is built from a clone of the repository", err)
	}
	seconds, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", seconds)
	}
	r.time = time.Unix(at, 0).UTC()
	r.version = version{described, packageVersion(described, r.time)}
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(failed.String()))
	}
	return strings.TrimSpace(string(text)), nil
}

var (
	tagged     = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[a-z]+\.?\d*)?)$`)
	afterATag  = regexp.MustCompile(`^v(\d+\.\d+\.\d+)-(\d+)-g([0-9a-f]+)(-dirty)?$`)
	commitOnly = regexp.MustCompile(`^([0-9a-f]+)(-dirty)?$`)
)

// packageVersion converts the output of git describe to a version for package managers. If the output
// has no usable tag, the version begins with 0.0.0 and the time "at", so that later versions sort later.
func packageVersion(described string, at time.Time) string {
	if m := tagged.FindStringSubmatch(described); m != nil {
		return m[1]
	}
	if m := afterATag.FindStringSubmatch(described); m != nil {
		return m[1] + "+" + m[2] + "." + m[3] + strings.ReplaceAll(m[4], "-", ".")
	}
	if m := commitOnly.FindStringSubmatch(described); m != nil {
		return "0.0.0+" + at.Format("20060102150405") + "." + m[1] + strings.ReplaceAll(m[2], "-", ".")
	}
	return "0.0.0+" + at.Format("20060102150405")
}
