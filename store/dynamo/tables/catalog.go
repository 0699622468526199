package tables

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
)

// Catalog lists the tables of a deployment.
type Catalog struct {
	records  *Records
	admin    *admin.Admin
	now      func() time.Time
	parallel int

	keepExpired bool // whether time to live is off in all tables

	mu      sync.Mutex
	version string // last version of the catalog that a filter has required
}

// Listed is a table in a list.
type Listed struct {
	store.Info

	Empty bool // whether the table has a record that does not mark it as used
}

// HasRows reports whether a table may have rows of this deployment.
func (l *Listed) HasRows() bool { return l.Owned && l.Status != store.Gone && !l.Empty }

// list is a list of tables, and a version of the catalog. The list is at least as new as the
// version.
type list struct {
	tables  []Listed
	version string
}

// Tables implements store.Catalog. A table counts as empty if its record does not mark it as used,
// because DynamoDB's own count of rows may be hours old. The details have that count.
func (c *Catalog) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	all, err := c.cached(ctx, &f)
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	for i := range all {
		if all[i].Overlaps(f.Window) && !(f.SkipEmpty && all[i].Empty) && (f.Lost || all[i].Status != store.Gone) {
			infos = append(infos, all[i].Info)
		}
	}
	if f.Details {
		return c.addDetails(ctx, infos)
	}
	return infos, nil
}

// cached returns a list that is new enough for the filter, from the cache or from a new load.
func (c *Catalog) cached(ctx context.Context, f *store.Filter) ([]Listed, error) {
	sel := selection{slices.Sorted(slices.Values(f.Prefixes)), f.Any}
	lists := c.records.lists
	l, ok := lists.Get(sel.key())
	if ok && !f.Fresh && (f.Version == "" || f.Version == l.version) {
		return l.tables, nil
	}
	c.mu.Lock()
	known := cmp.Or(f.Version, c.version)
	c.mu.Unlock()
	drops, at := lists.Drops(), time.Now()
	all, err := c.load(ctx, &sel)
	if err != nil {
		return nil, err
	}
	if lists.PutSince(drops, at, sel.key(), list{all, known}, 0) && f.Version != "" {
		c.mu.Lock()
		c.version = f.Version
		c.mu.Unlock()
	}
	return all, nil
}

// All returns all tables of this deployment, and other tables with one of the prefixes.
func (c *Catalog) All(ctx context.Context, prefixes ...string) ([]Listed, error) {
	return c.load(ctx, &selection{prefixes: slices.Sorted(slices.Values(prefixes)), any: true})
}

// WithPrefixes returns the tables with one of the prefixes.
func (c *Catalog) WithPrefixes(ctx context.Context, prefixes []string) ([]Listed, error) {
	return c.load(ctx, &selection{prefixes: slices.Sorted(slices.Values(prefixes))})
}

type selection struct {
	prefixes []string // prefixes of the selected tables, sorted
	any      bool     // if true, also all tables with a record
}

func (sel *selection) key() string {
	kind := "prefixes "
	if sel.any {
		kind = "any "
	}
	return kind + strings.Join(sel.prefixes, " ")
}

func (sel *selection) prefixesIn(records map[string]record) []string {
	prefixes := slices.Clone(sel.prefixes)
	if sel.any {
		for name := range records {
			if t, ok := grid.Parse(name); ok {
				prefixes = append(prefixes, t.Prefix)
			}
		}
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
}

// load lists the selected tables and reads their records. A table without a record does not
// belong to this deployment.
func (c *Catalog) load(ctx context.Context, sel *selection) (all []Listed, err error) {
	records, err := c.records.readAll(ctx)
	if err != nil {
		return nil, err
	}
	for _, prefix := range sel.prefixesIn(records) {
		names, err := c.names(ctx, prefix)
		if err != nil {
			return nil, err
		}
		selected := slices.Contains(sel.prefixes, prefix)
		for _, t := range names {
			if r, owned := records[t.Name()]; owned || selected {
				all = append(all, Listed{r.info(t, owned), owned && !r.Used})
			}
			delete(records, t.Name())
		}
		unlisted, err := c.unlisted(ctx, prefix, records)
		if err != nil {
			return nil, err
		}
		all = append(all, unlisted...)
	}
	slices.SortFunc(all, func(a, b Listed) int { return a.Table.Compare(b.Table) })
	return all, nil
}

// unlisted returns the tables of a prefix that have a record but are missing in DynamoDB's list.
// They are either too new to be listed, or were deleted outside of Varve.
func (c *Catalog) unlisted(ctx context.Context, prefix string, records map[string]record) (all []Listed, err error) {
	for name, r := range records {
		t, ok := grid.Parse(name)
		if !ok || t.Prefix != prefix || r.Phase != usable && r.Lost.IsZero() {
			continue
		}
		err := c.admin.Exists(ctx, name)
		switch in := r.info(t, true); {
		case err == nil && r.Phase == usable:
			all = append(all, Listed{in, !r.Used})
		case err != nil && !client.IsNoTable(err):
			return nil, err
		case err != nil && r.Used:
			if in.Status = store.Gone; in.Lost.IsZero() {
				in.Lost = c.now().UTC() // the time of the deletion is unknown
			}
			all = append(all, Listed{in, false})
		}
	}
	return all, nil
}

// names returns the tables with a prefix that are in DynamoDB's list.
func (c *Catalog) names(ctx context.Context, prefix string) (all []grid.Table, err error) {
	begin := prefix + "_"
	err = c.admin.Names(ctx, begin+"0", func(name string) bool { // every name with the prefix sorts after this text
		if !strings.HasPrefix(name, begin) {
			return name <= begin
		}
		if t, ok := grid.Parse(name); ok && t.Prefix == prefix {
			all = append(all, t)
		}
		return true
	})
	return all, err
}
