package dist

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// descriptor, manifest and imageConfig have the properties of OCI documents that the tests need. A
// manifest can also be an index.
type descriptor struct {
	Digest   string
	Platform struct{ OS, Architecture, Variant string }
}

type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
}

type imageConfig struct {
	OS, Architecture, Variant string
	Config                    struct {
		User            string
		Entrypoint, Cmd []string
		Env             []string
		WorkingDir      string
	}
}

// blob decodes a JSON document of an image layout.
func blob(t *testing.T, layout, digest string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1)))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type image struct {
	imageConfig

	rootfs string
}

// unpackImage unpacks the image for a platform, as a container runtime does.
func unpackImage(t *testing.T, architecture string) image {
	t.Helper()
	layout, rootfs := t.TempDir(), t.TempDir()
	run(t, "tar", "-C", layout, "-xf", find(t, "varve_*_image.oci.tar"))
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var top, index, found manifest
	if err := json.Unmarshal(data, &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v\n%s", err, data)
	}
	blob(t, layout, top.Manifests[0].Digest, &index)
	if want := len(architectures()); len(index.Manifests) != want {
		t.Fatalf("the index has %d platforms, want %d", len(index.Manifests), want)
	}
	for _, m := range index.Manifests {
		if m.Platform.OS == "linux" && m.Platform.Architecture == architecture {
			blob(t, layout, m.Digest, &found)
		}
	}
	if len(found.Layers) == 0 {
		t.Fatalf("no image for linux/%s in %+v", architecture, index.Manifests)
	}
	im := image{rootfs: rootfs}
	blob(t, layout, found.Config.Digest, &im.imageConfig)
	for _, l := range found.Layers {
		unpackLayer(t, filepath.Join(layout, "blobs", strings.Replace(l.Digest, ":", "/", 1)), rootfs)
	}
	return im
}

// unpackLayer unpacks a layer and sets the modes of its files. If this process is root, it also sets
// their owners.
func unpackLayer(t *testing.T, path, rootfs string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(rootfs, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = writeFile(at, r)
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(at, h.Uid, h.Gid)
		}
		if err = errors.Join(err, os.Chmod(at, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(at string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.Create(at)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// command returns a command that runs the entry point of the image. The command has the root folder,
// the user and the environment of the image. If this process is not root, the command runs in a
// user namespace.
func (im *image) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	var uid, gid uint32
	if _, err := fmt.Sscanf(im.Config.User, "%d:%d", &uid, &gid); err != nil || uid == 0 {
		t.Fatalf("user %q, want numbers that are not 0: %v", im.Config.User, err)
	}
	cmd := exec.CommandContext(ctx, im.Config.Entrypoint[0], append(im.Config.Entrypoint[1:len(im.Config.Entrypoint):len(im.Config.Entrypoint)], args...)...)
	cmd.Env, cmd.Dir = im.Config.Env, im.Config.WorkingDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: im.rootfs, Credential: &syscall.Credential{Uid: uid, Gid: gid, NoSetGroups: os.Geteuid() != 0}}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(uid), HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(gid), HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// TestImage_RunsWithoutDaemon runs commands of the unpacked image. One command creates the first API
// key, as the job in packaging/kubernetes does. A server must require the key, and accept a reading
// and a query with it.
func TestImage_RunsWithoutDaemon(t *testing.T) {
	im := unpackImage(t, runtime.GOARCH)
	certificates, err := os.ReadFile(filepath.Join(im.rootfs, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(certificates) || strings.Count(string(certificates), "BEGIN") < 50 {
		t.Errorf("%d bytes of certificates of CAs", len(certificates))
	}
	text, err := im.command(t.Context(), t, "keys", "create", "--scope", "admin", "--name", "ops", "--data", "/var/lib/varve/data").Output()
	if err != nil {
		t.Fatalf("keys create: %v\n%s", err, text)
	}
	key := strings.TrimSpace(string(text))
	address := freeAddress(t)
	serve := im.command(t.Context(), t, append(im.Config.Cmd, "--listen", address)...)
	var output strings.Builder
	serve.Stdout, serve.Stderr = &output, &output
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	url := "http://" + address
	if !varvetest.Eventually(func() bool { return get(t, url+"/readyz", "") == http.StatusOK }) {
		_ = serve.Process.Kill() // the server may have ended already
		_ = serve.Wait()         // after Wait, the output of the server is complete
		t.Fatalf("the image is not ready:\n%s", output.String())
	}
	if status := get(t, url+"/v1/streams", ""); status != http.StatusUnauthorized {
		t.Errorf("without a key: status %d, want 401", status)
	}
	send := im.command(t.Context(), t, "ingest", "--server", url, "--stream", "weather", "--format", "ndjson", "-")
	send.Env = append(send.Env, "VARVE_KEY="+key)
	send.Stdin = strings.NewReader(`{"device":"d","time":"2026-11-20T00:00:00Z","fields":{"a":22.4}}`)
	if text, err := send.CombinedOutput(); err != nil {
		t.Errorf("ingest: %v\n%s", err, text)
	}
	if status := get(t, url+"/v1/streams/weather/devices/d/readings", key); status != http.StatusOK {
		t.Errorf("query: status %d, want 200", status)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, output.String())
	}
	if _, err := os.Stat(filepath.Join(im.rootfs, "var/lib/varve/data/VARVE")); err != nil {
		t.Error(err)
	}
}

// TestImage_HasAllPlatforms checks the configuration of each platform.
func TestImage_HasAllPlatforms(t *testing.T) {
	for _, name := range architectures() {
		arch, variant, _ := strings.Cut(strings.Replace(name, "/", "/v", 1), "/")
		im := unpackImage(t, arch)
		if im.OS != "linux" || im.Architecture != arch || im.Variant != variant || im.Config.User != "65532:65532" {
			t.Errorf("%s: %+v", arch, im.imageConfig)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// get sends a request and returns the status of the answer, or 0 without an answer.
func get(t *testing.T, url, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
