package backup

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve/objectstore"
)

// Prefixes of keys.
const (
	filesPrefix   = "files/"
	backupsPrefix = "backups/"
	runningPrefix = "running/"
)

// format is the number of the only format of manifests that this program writes and reads.
const format = 1

// nameLayout is the layout of the names of backups. The names sort in the order of time.
const nameLayout = "2006-01-02T15-04-05.000000000Z"

// Manifest lists the files of a backup.
type Manifest struct {
	Format  int       `json:"format"`
	Store   string    `json:"store"`   // id of the store
	Created time.Time `json:"created"` // time of the snapshot
	Version string    `json:"version"` // version of the program that made the backup
	Files   []File    `json:"files"`   // ordered by path
	// Damage describes the damage that the store had recorded before the backup. It is "" without such damage.
	Damage string `json:"damage,omitempty"`
	// Sum is the SHA-256 of the manifest with an empty Sum.
	Sum string `json:"sum"`
}

// File is a file of a backup.
type File struct {
	Path     string    `json:"path"` // path relative to the data folder, with slashes
	Size     int64     `json:"size"` // size in bytes
	SHA256   string    `json:"sha256"`
	Modified time.Time `json:"modified"`
	Damage   string    `json:"damage,omitempty"` // result of Snapshot.Check; "" if the file is intact
}

func (f *File) key() string { return filesPrefix + f.SHA256 }

// Name identifies the backup in its place.
func (m *Manifest) Name() string { return m.Created.UTC().Format(nameLayout) }

func (m *Manifest) key() string { return backupsPrefix + m.Name() + ".json" }

// Size returns the size of the restored data folder, in bytes.
func (m *Manifest) Size() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

// Damages describes all damage that the store had when the backup was made. It is empty if the store was
// intact.
func (m *Manifest) Damages() (list []string) {
	if m.Damage != "" {
		list = append(list, m.Damage)
	}
	for i := range m.Files {
		if f := &m.Files[i]; f.Damage != "" {
			list = append(list, f.Path+": "+f.Damage)
		}
	}
	return list
}

// encode sets Sum, and returns the manifest as JSON.
func (m *Manifest) encode() ([]byte, error) {
	m.Sum = ""
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m.Sum = objectstore.SumOf(data)
	return json.MarshalIndent(m, "", " ")
}

// decode parses a manifest and checks its sum, and that its paths stay in the data folder.
func decode(data []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("format %d: this program reads format %d: use the program that wrote it", m.Format, format)
	}
	said := m.Sum
	if _, err := m.encode(); err != nil {
		return nil, err
	}
	if m.Sum != said {
		return nil, errors.New("the manifest is damaged: its sum differs")
	}
	for i := range m.Files {
		if f := &m.Files[i]; !localPath(f.Path) || len(f.SHA256) != 2*sha256.Size {
			return nil, fmt.Errorf("the manifest names the file %q, which is not a file of a backup", f.Path)
		}
	}
	return &m, nil
}

// Manifests returns the backups of a place, the oldest first. If some manifests cannot be read, the
// error names them, and all others are returned nevertheless.
func (p *Place) Manifests(ctx context.Context) (list []*Manifest, err error) {
	names, err := p.list(ctx, backupsPrefix)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if !strings.HasSuffix(key, ".json") {
			continue
		}
		m, err := p.manifest(ctx, key)
		if err != nil {
			errs = append(errs, p.failed(fmt.Errorf("%s: %w", key, err)))
			continue
		}
		list = append(list, m)
	}
	return list, errors.Join(errs...)
}

func (p *Place) manifest(ctx context.Context, key string) (*Manifest, error) {
	data, err := p.objects.Get(ctx, p.prefix+key, 0, -1)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// Select returns the last backup, or the one with the given name if the name is not empty. If the
// argument "until" is not zero, later backups are ignored.
func (p *Place) Select(ctx context.Context, name string, until time.Time) (*Manifest, error) {
	list, err := p.Manifests(ctx)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	for _, m := range slices.Backward(list) {
		if (name == "" || m.Name() == name) && (until.IsZero() || !m.Created.After(until)) {
			return m, nil
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, p.noBackup()
	case name != "":
		return nil, fmt.Errorf("backup %s: does not exist in %s: varve backup list shows all", name, p)
	default:
		return nil, fmt.Errorf("%s has no backup up to %s: the first one is of %s", p, until.Format(time.RFC3339), list[0].Name())
	}
}

// SelectAsOf returns the first backup that was made after a time, or else the last backup. The method
// Manifest.Knows compares the times.
//
// The backup has all readings that had arrived by the time and were acknowledged before the backup.
func (p *Place) SelectAsOf(ctx context.Context, at time.Time) (*Manifest, error) {
	list, err := p.Manifests(ctx)
	if err == nil && len(list) == 0 {
		err = p.noBackup()
	}
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Knows(at) {
			return m, nil
		}
	}
	return list[len(list)-1], nil
}

// Knows reports whether the backup was made after every arrival up to a time. Arrivals are whole
// milliseconds.
func (m *Manifest) Knows(at time.Time) bool {
	return !m.Created.Before(at.Truncate(time.Millisecond).Add(time.Millisecond))
}

func (p *Place) noBackup() error {
	return fmt.Errorf("%s has no backup: check the name of the place", p)
}
