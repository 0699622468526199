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

// The output of git describe, without its suffix -dirty.
var (
	tagged     = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[a-z]+\.?\d*)?)$`)
	afterATag  = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[a-z]+\.?\d*)?)-(\d+)-g([0-9a-f]+)$`)
	commitOnly = regexp.MustCompile(`^[0-9a-f]+$`)
)

// packageVersion converts the output of git describe to a version for package managers. If the output
// has no usable tag, the version begins with 0.0.0 and the time "at", so that later versions sort later.
func packageVersion(described string, at time.Time) string {
	described, dirty := strings.CutSuffix(described, "-dirty")
	var build []string // identifiers after the plus sign
	release := "0.0.0"
	if m := tagged.FindStringSubmatch(described); m != nil {
		release = m[1]
	} else if m := afterATag.FindStringSubmatch(described); m != nil {
		release, build = m[1], m[2:]
	} else {
		build = []string{at.Format("20060102150405")}
		if commitOnly.MatchString(described) {
			build = append(build, described)
		}
	}
	if dirty {
		build = append(build, "dirty")
	}
	if len(build) == 0 {
		return release
	}
	return release + "+" + strings.Join(build, ".")
}
