package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or a folder of an archive. A folder's name ends with a slash.
type entry struct {
	name string
	mode int64
	data []byte
	user int // number of the owning user and group
}

// archive returns a tar archive of the entries in the order of their names. All entries have the
// same time, and owners are numbers, so equal entries give equal bytes.
func archive(entries []entry, at time.Time) ([]byte, error) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at, Uid: e.user, Gid: e.user, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// gzipped returns the compressed data. The result has no name and no time, so that equal data gives
// equal bytes.
func gzipped(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func gzipFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if data, err = gzipped(data); err != nil {
		return "", err
	}
	return path + ".gz", os.WriteFile(path+".gz", data, 0o600)
}

// archived lists the files of the repository that the archive of each program contains. The archive of
// varve also contains the documents of writeDocuments.
var archived = map[string][]string{
	mainProgram:  {"LICENSE", "README.md", "CHANGELOG.md", "packaging/systemd/varve.service"},
	agentProgram: {"LICENSE", "docs/agent.md", "packaging/varve-agent.yaml", "packaging/systemd/varve-agent.service"},
}

// writeArchive writes the archive of a binary: one folder with the program and its documents.
func (r *release) writeArchive(b binary, documents []document) error {
	name := b.file(r.version.packaged)
	files := map[string]string{b.program(b.name): b.path}
	for _, doc := range archived[b.name] {
		files[path.Base(doc)] = filepath.Join(r.root, filepath.FromSlash(doc))
	}
	for _, d := range documents {
		files[d.archived()] = d.path
	}
	var entries []entry
	for at, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if at == b.program(b.name) {
			mode = 0o755
		}
		entries = append(entries, entry{name: name + "/" + at, mode: mode, data: data})
	}
	data, err := archive(entries, r.time)
	if err == nil {
		data, err = gzipped(data)
	}
	if err != nil {
		return err
	}
	return r.write(name+".tar.gz", data)
}

func (r *release) write(name string, data []byte) error {
	fmt.Fprintf(r.log, "%9d %s\n", len(data), name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644) //nolint:gosec // these files are published
}

// writeSums writes the checksums of all files, as sha256sum --check reads them.
func (r *release) writeSums() error {
	var lines bytes.Buffer
	err := fs.WalkDir(os.DirFS(r.out), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(r.out, name))
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), name)
		return err
	})
	return errors.Join(err, r.write("SHA256SUMS", lines.Bytes()))
}
