package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// imageUser is the user of the image's processes, by number, so that Kubernetes can check
	// that it is not root.
	imageUser = 65532
	imageData = "/var/lib/varve"
	imageRun  = "/usr/bin/varve"
)

// writeImage writes the image of the Linux binaries: an OCI layout with one index.
func (r *release) writeImage(built []binary) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range built {
		if b.os != "linux" {
			continue
		}
		image, err := r.image(b)
		if err != nil {
			return fmt.Errorf("image of %s: %w", b.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch, Variant: b.variant()}},
		})
	}
	dir := filepath.Join(r.work, "image")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version.described})); err != nil {
		return err
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	data, err := archive(entries, r.time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("varve_%s_image.oci.tar", r.version.packaged), data)
}

// variant returns the variant of a processor, as OCI names it.
func (b binary) variant() string {
	if b.arm != "" {
		return "v" + b.arm
	}
	return ""
}

// image returns the image of a binary. It has two layers and no base. The first layer is the
// same on all platforms.
func (r *release) image(b binary) (v1.Image, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	skeleton, err := skeletonEntries()
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, entries := range [][]entry{skeleton, {{name: imageRun[1:], mode: 0o755, data: program}}} {
		layer, err := r.layer(entries)
		if err != nil {
			return nil, err
		}
		added := mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "tools/dist"}}
		if image, err = mutate.Append(image, added); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Variant = b.os, b.arch, b.variant()
	config.Created = v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", imageUser, imageUser),
		Entrypoint: []string{imageRun}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "VARVE_STORE_DIR=" + imageData + "/data"},
		WorkingDir:   imageData,
		Volumes:      map[string]struct{}{imageData: {}},
		ExposedPorts: map[string]struct{}{"8278/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title": "varve", "org.opencontainers.image.version": r.version.described,
			"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/varvedb/varve",
		},
	}
	return mutate.ConfigFile(image, config)
}

func (r *release) layer(entries []entry) (v1.Layer, error) {
	data, err := archive(entries, r.time)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// skeletonEntries returns the files that a program expects: certificates of public CAs, the
// names of users, and folders to write to.
func skeletonEntries() ([]entry, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // such a root is trusted only in part, which a file of certificates cannot express
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return []entry{
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certificates.Bytes()},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/nonexistent\nvarve:x:%d:%d:varve:%s:/nonexistent\n", imageUser, imageUser, imageData)},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nvarve:x:%d:\n", imageUser)},
		{name: "tmp/", mode: 0o1777},
		{name: imageData[1:] + "/", mode: 0o700, user: imageUser},
	}, nil
}

func entriesOf(dir string) (all []entry, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		all = append(all, entry{name: name, mode: 0o644, data: data})
		return err
	})
	return all, err
}
