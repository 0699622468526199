package archive

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
)

// ManifestVersion is the version of the manifest that this program writes.
const ManifestVersion = 1

// Manifest describes the archive of one table, or a merged archive. It is stored as an object beside the
// files of the archive.
type Manifest struct {
	Version int       `json:"version"`
	Schema  string    `json:"schema"` // version of the columns
	Table   string    `json:"table"`  // name of the table, or of the merged archive
	Class   string    `json:"class"`
	Attempt string    `json:"attempt"`
	Created time.Time `json:"created"`

	Readings int64  `json:"readings"` // distinct readings, one per row
	Series   int64  `json:"series"`
	Digest   string `json:"digest"` // sum of the hashes of all readings, hexadecimal

	Tables []TableEntry `json:"tables,omitempty"` // tables of a merged archive, in the order of their event ranges
	// Replaces has the counts of tables in earlier archives, which this one has replaced because of
	// erasures, the latest last.
	Replaces []TableEntry `json:"replaces,omitempty"`
	Files    []FileEntry  `json:"files"`
	Digests  FileEntry    `json:"digests"` // the count and digest of each series and day
}

// TableEntry counts the readings of one table in an archive.
type TableEntry struct {
	Table    string `json:"table"`
	Readings int64  `json:"readings"`
	Series   int64  `json:"series"`
	Digest   string `json:"digest"`
}

// FileEntry describes a file of an archive.
type FileEntry struct {
	Name   string    `json:"name"` // name of the file, in the folder of the manifest
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Rows   int64     `json:"rows"`
	First  SeriesKey `json:"first"` // series of the first row
	Last   SeriesKey `json:"last"`
	From   time.Time `json:"from,omitzero"` // event times of the rows: from <= time <= to
	To     time.Time `json:"to,omitzero"`

	Groups []GroupEntry `json:"groups,omitempty"` // the row groups, in the order of the file
	Footer RangeEntry   `json:"footer,omitzero"`  // the bytes of the file after the last row group
}

// RangeEntry describes a range of the bytes of a file.
type RangeEntry struct {
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (r *RangeEntry) end() int64 { return r.Offset + r.Size }

// GroupEntry describes a row group.
type GroupEntry struct {
	RangeEntry
	Rows  int64     `json:"rows"`
	First SeriesKey `json:"first"` // series of the first row
	Last  SeriesKey `json:"last"`
	From  time.Time `json:"from"` // event times of the rows: from <= time <= to
	To    time.Time `json:"to"`
}

// describe sets the fields about the rows, the row groups and the footer of a written file.
func (f *FileEntry) describe(written *parquetfile.File) {
	f.Rows, f.First, f.Last, f.From, f.To = written.Readings, SeriesKey(written.First), SeriesKey(written.Last), written.From, written.To
	entry := func(offset, size int64) RangeEntry {
		return RangeEntry{Offset: offset, Size: size, SHA256: objectstore.SumOf(written.Body[offset : offset+size])}
	}
	end := int64(0)
	for i := range written.Groups {
		g := &written.Groups[i]
		end = g.Offset + g.Size
		f.Groups = append(f.Groups, GroupEntry{
			RangeEntry: entry(g.Offset, g.Size), Rows: g.Readings, First: SeriesKey(g.First), Last: SeriesKey(g.Last), From: g.From, To: g.To,
		})
	}
	f.Footer = entry(end, int64(len(written.Body))-end)
}

// SeriesKey is a series in a manifest.
type SeriesKey struct {
	Tenant string `json:"tenant"`
	Stream string `json:"stream"`
	Device string `json:"device"`
}

// Series returns the series.
func (k SeriesKey) Series() varve.Series { return varve.Series(k) }

// Bytes returns the size of all files.
func (m *Manifest) Bytes() int64 {
	n := m.Digests.Size
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

func (m *Manifest) allFiles() []FileEntry {
	return append(m.Files[:len(m.Files):len(m.Files)], m.Digests)
}

// parseManifest parses a manifest of a table or of a merged archive. The names of its files are checked,
// so that no other object is read or deleted in their place.
func parseManifest(body []byte, name string) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	if m.Version != ManifestVersion {
		return nil, fmt.Errorf("manifest has version %d, want %d", m.Version, ManifestVersion)
	}
	if m.Table != name {
		return nil, fmt.Errorf("manifest is for table %s", m.Table)
	}
	if attemptOf(digestsName(m.Attempt)) == "" {
		return nil, fmt.Errorf("manifest has the attempt %.80q", m.Attempt)
	}
	for _, f := range m.allFiles() {
		if attemptOf(f.Name) != m.Attempt {
			return nil, fmt.Errorf("manifest names the file %q of another attempt", f.Name)
		}
	}
	return m, nil
}

// entryOf returns the counts of a table in a merged archive, or nil if it lacks the table.
func (m *Manifest) entryOf(t grid.Table) *TableEntry {
	for i := range m.Tables {
		if m.Tables[i].Table == t.Name() {
			return &m.Tables[i]
		}
	}
	return nil
}

// Dir returns the prefix of the keys of a table's objects, with a slash at its end. Its folders are
// named like Hive partitions, so that tools such as DuckDB read them as columns.
func Dir(prefix, class string, t grid.Table) string {
	return dirOf(prefix, class, t.Month, t.Range, t.Name())
}

func dirOf(prefix, class string, month grid.Month, r grid.Range, name string) string {
	w := r.Window()
	span := w.From.Format("20060102") + "-" + w.To.Format("20060102")
	return path.Join(prefix, "class="+class, fmt.Sprintf("month=%s", month.Start().Format("2006-01")), "range="+span, "table="+name) + "/"
}

// manifestName returns the name of the manifest of a generation. The first generation is 1.
func manifestName(generation int) string {
	if generation <= 1 {
		return "manifest.json"
	}
	return "manifest-" + strconv.Itoa(generation) + ".json"
}

func partName(attempt string, n int) string { return fmt.Sprintf("part-%s-%05d.parquet", attempt, n) }

func digestsName(attempt string) string { return "digests-" + attempt + ".parquet" }

// attemptLength is the number of hexadecimal digits of an attempt.
const attemptLength = 16

// attemptOf returns the attempt in the name of a file, or "" if the file does not belong to an
// archive.
func attemptOf(name string) string {
	rest, isPart := strings.CutPrefix(name, "part-")
	if !isPart {
		var isDigests bool
		if rest, isDigests = strings.CutPrefix(name, "digests-"); !isDigests {
			return ""
		}
	}
	if len(rest) < attemptLength {
		return ""
	}
	attempt := rest[:attemptLength]
	n := 0
	if isPart {
		var err error
		if n, err = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(rest[attemptLength:], "-"), ".parquet")); err != nil || n < 0 {
			return ""
		}
	}
	if name != digestsName(attempt) && name != partName(attempt, n) || strings.Trim(attempt, "0123456789abcdef") != "" {
		return ""
	}
	return attempt
}
