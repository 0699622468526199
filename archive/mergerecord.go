package archive

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// MergedPK is the partition of the registry with the merged archives.
const MergedPK = "ARCHIVE_MERGED"

// Attributes of the record of a merged archive.
const (
	attrTables  = "tables"
	attrKept    = "kept"
	attrDamaged = "damaged"
)

// mergedPrefix begins the names of merged archives. No table has such a name.
const mergedPrefix = "merged-"

// Merged describes a merged archive. Its record exists from before the first file is written until
// after the last one is deleted.
type Merged struct {
	Name   string       // name of the merged archive, as merged-<attempt>
	State  State        // if Archived, the files were read back and recounted
	Dir    string       // prefix of the keys of its objects
	Tables []grid.Table // its tables, in the order of their event ranges

	// Kept has tables that had no record when the merged archive was accepted. The merged archive is not
	// deleted or rewritten while one of these tables has no record.
	Kept []grid.Table
	// Damaged means that files may be damaged, and that an acceptance gave one of the tables
	// another archive. The files then stay until an erasure, or until all archives of the tables
	// have expired.
	Damaged bool

	version int64
}

// NameOfMerged returns the name of the merged archive whose keys begin with a prefix, as in Record.Merged.
// The result for an empty prefix is empty.
func NameOfMerged(dir string) string {
	_, name, _ := strings.Cut(path.Base(dir), "table=")
	return name
}

// attempt returns the id of the attempt, which is a part of the names of m and its files.
func (m *Merged) attempt() string { return strings.TrimPrefix(m.Name, mergedPrefix) }

func (m *Merged) manifestKey() string { return m.Dir + manifestName(1) }

func (m *Merged) has(r *Record) bool { return r.Merged == m.Dir }

// ListMerged returns all merged archives, including unfinished ones.
func (c Catalog) ListMerged(ctx context.Context) (list []Merged, err error) {
	for it, err := range registry.All(ctx, c.Items, store.ItemQuery{PK: MergedPK, Consistent: true}) {
		if err != nil {
			return nil, fmt.Errorf("list merged archives: %w", err)
		}
		m, err := parseMerged(it)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func (c Catalog) getMerged(ctx context.Context, name string) (Merged, bool, error) {
	items, err := c.Items.Get(ctx, []store.Key{{PK: MergedPK, SK: name}}, true)
	if err != nil || len(items) == 0 {
		return Merged{}, false, err
	}
	m, err := parseMerged(&items[0])
	return m, err == nil, err
}

// putMerged writes the record of a merged archive, unless another process has changed it.
func (c Catalog) putMerged(ctx context.Context, m *Merged, state State) error {
	cond := store.IfAbsent()
	if m.version > 0 {
		cond = store.IfEquals(attrVersion, varve.IntValue(m.version))
	}
	attrs := map[string]varve.Value{attrState: varve.StringValue(string(state)), attrVersion: varve.IntValue(m.version + 1)}
	registry.PutText(attrs, attrDir, m.Dir)
	registry.PutText(attrs, attrTables, joinNames(m.Tables))
	registry.PutText(attrs, attrKept, joinNames(m.Kept))
	if m.Damaged {
		attrs[attrDamaged] = varve.IntValue(1)
	}
	if err := c.Items.Put(ctx, store.Item{Key: store.Key{PK: MergedPK, SK: m.Name}, Attrs: attrs}, cond); err != nil {
		return fmt.Errorf("write record of %s: %w", m.Name, err)
	}
	m.State = state
	m.version++
	return nil
}

// deleteMerged removes the record of a merged archive, unless another process has changed it.
func (c Catalog) deleteMerged(ctx context.Context, m *Merged) error {
	return c.Items.Delete(ctx, store.Key{PK: MergedPK, SK: m.Name}, store.IfEquals(attrVersion, varve.IntValue(m.version)))
}

// Leftover returns each table of a merged archive to which the record of the table does not point.
// Examples are tables whose archives have expired or were replaced, and tables of interrupted merges.
func (c Catalog) Leftover(ctx context.Context) ([]grid.Table, error) {
	list, err := c.ListMerged(ctx)
	if err != nil {
		return nil, err
	}
	var tables []grid.Table
	for i := range list {
		for _, t := range list[i].Tables {
			r, _, err := c.Get(ctx, t)
			if err != nil {
				return nil, err
			}
			if !list[i].has(&r) {
				tables = append(tables, t)
			}
		}
	}
	return tables, nil
}

func parseMerged(it *store.Item) (Merged, error) {
	rd := registry.NewReader(it)
	m := Merged{Name: it.SK, State: State(rd.Text(attrState)), Dir: rd.Text(attrDir), version: registry.Int(it.Attrs[attrVersion])}
	m.Damaged = registry.Int(it.Attrs[attrDamaged]) == 1
	var err error
	if m.Tables, err = parseNames(rd.Text(attrTables)); err == nil {
		m.Kept, err = parseNames(rd.Text(attrKept))
	}
	if err != nil {
		return m, fmt.Errorf("record of %s: %w", m.Name, err)
	}
	return m, rd.Err()
}

// joinNames returns the names of tables, separated by spaces.
func joinNames(tables []grid.Table) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name()
	}
	return strings.Join(names, " ")
}

func parseNames(text string) (tables []grid.Table, err error) {
	for _, name := range strings.Fields(text) {
		t, ok := grid.Parse(name)
		if !ok {
			return nil, fmt.Errorf("%.80q is not the name of a table", name)
		}
		tables = append(tables, t)
	}
	return tables, nil
}
