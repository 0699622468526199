package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"golang.org/x/sync/errgroup"
)

// tableList is the list of tables as it was read last.
type tableList struct {
	mu    sync.Mutex
	read  time.Time
	of    selection
	infos []listed
	epoch int // raised by forget
	// version of the catalog, which the list is as new as.
	version string
}

// newEnough reports whether the list serves a filter. The lock is held.
func (l *tableList) newEnough(f *store.Filter, sel *selection, most time.Duration) bool {
	return !f.Fresh && l.of.equal(sel) && time.Since(l.read) < most && (f.Version == "" || f.Version == l.version)
}

// listed is a table, and whether it is known that nothing is in it.
type listed struct {
	store.Info
	empty bool
}

// selection is which tables a list has.
type selection struct {
	prefixes []string // in order
	any      bool     // and all that have a record
}

func selectionOf(f *store.Filter) selection {
	return selection{slices.Sorted(slices.Values(f.Prefixes)), f.Any}
}

func (sel *selection) equal(other *selection) bool {
	return sel.any == other.any && slices.Equal(sel.prefixes, other.prefixes)
}

// forget makes the next call read the list again.
func (l *tableList) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = time.Time{}
	l.epoch++
}

// Tables implements store.Catalog. Tables are empty if their records say so:
// DynamoDB knows only hours later.
func (s *Store) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	all, err := s.listed(ctx, &f)
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	for i := range all {
		if all[i].Overlaps(f.Window) && !(f.SkipEmpty && all[i].empty) && (f.Lost || all[i].Status != store.Gone) {
			infos = append(infos, all[i].Info)
		}
	}
	if f.Details {
		return s.detailed(ctx, infos)
	}
	return infos, nil
}

func (s *Store) listed(ctx context.Context, f *store.Filter) ([]listed, error) {
	sel := selectionOf(f)
	l := &s.list
	l.mu.Lock()
	if l.newEnough(f, &sel, s.opts.CacheFor) {
		defer l.mu.Unlock()
		return l.infos, nil
	}
	epoch := l.epoch
	l.mu.Unlock()
	at := time.Now()
	infos, err := s.load(ctx, &sel)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch == epoch {
		l.read, l.of, l.infos = at, sel, infos
		if f.Version != "" { // else it is newer than the version that it had
			l.version = f.Version
		}
	}
	return infos, nil
}

// load reads the names of tables and their records. A table without a record
// is not this deployment's.
func (s *Store) load(ctx context.Context, sel *selection) (infos []listed, err error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	for _, prefix := range sel.among(records) {
		tables, err := s.names(ctx, prefix)
		if err != nil {
			return nil, err
		}
		asked := slices.Contains(sel.prefixes, prefix)
		for _, t := range tables {
			if r, ours := records[t.Name()]; ours || asked {
				infos = append(infos, listed{r.info(t, ours), ours && !r.Used})
			}
			delete(records, t.Name())
		}
		late, err := s.unlisted(ctx, prefix, records)
		if err != nil {
			return nil, err
		}
		infos = append(infos, late...)
	}
	slices.SortFunc(infos, func(a, b listed) int { return a.Table.Compare(b.Table) })
	return infos, nil
}

// unlisted returns the tables of a prefix that have a record, and are not in
// DynamoDB's list: those that are not in it yet, and those that somebody deleted
// after they were used.
func (s *Store) unlisted(ctx context.Context, prefix string, records map[string]record) (infos []listed, err error) {
	for name, r := range records {
		t, ok := grid.Parse(name)
		if !ok || t.Prefix != prefix || r.Phase != usable && r.Lost.IsZero() {
			continue
		}
		_, err := s.describe(ctx, name)
		switch in := r.info(t, true); {
		case err == nil && r.Phase == usable:
			infos = append(infos, listed{in, !r.Used})
		case err != nil && !isNoTable(err):
			return nil, err
		case err != nil && r.Used:
			if in.Status = store.Gone; in.Lost.IsZero() {
				in.Lost = s.opts.Now().UTC() // when exactly, nobody knows
			}
			infos = append(infos, listed{in, false})
		}
	}
	return infos, nil
}

// among returns the prefixes whose tables may have been selected.
func (sel *selection) among(records map[string]record) []string {
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

// names lists the tables of a prefix, from the first name that there can be.
func (s *Store) names(ctx context.Context, prefix string) (tables []grid.Table, err error) {
	begin := prefix + "_"
	in := &dynamodb.ListTablesInput{ExclusiveStartTableName: aws.String(begin + "0")}
	for {
		out, err := s.client.ListTables(ctx, in)
		if err != nil {
			return nil, s.fail("ListTables", begin+"*", err)
		}
		for _, name := range out.TableNames {
			if !strings.HasPrefix(name, begin) {
				if name > begin {
					return tables, nil
				}
				continue
			}
			if t, ok := grid.Parse(name); ok && t.Prefix == prefix {
				tables = append(tables, t)
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return tables, nil
		}
	}
}

// adopt writes the record of a table that has none, and whose tag says that it is
// this deployment's: the registry was lost, and made anew.
func (s *Store) adopt(ctx context.Context, in *store.Info, d *types.TableDescription) error {
	owned, err := s.owned(ctx, in.Table, d)
	if err != nil || !owned || d.TableStatus != types.TableStatusActive {
		return err
	}
	r := &record{Phase: usable, Tier: store.Warm, Created: aws.ToTime(d.CreationDateTime).UTC(), Used: true, Version: 1}
	if err := s.put(ctx, r.item(in.Table), store.IfAbsent()); err != nil && !errors.Is(err, store.ErrCondition) {
		return err
	}
	if err := s.changeVersion(ctx); err != nil {
		return err
	}
	readings, bytes := in.Readings, in.Bytes
	*in = r.info(in.Table, true)
	in.Readings, in.Bytes = readings, bytes
	s.list.forget()
	return nil
}

func (s *Store) records(ctx context.Context) (map[string]record, error) {
	records := map[string]record{}
	q := store.ItemQuery{PK: tablesPK, Consistent: true}
	for {
		page, err := s.query(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			r, err := parseRecord(&page.Items[i])
			if err != nil {
				return nil, err
			}
			records[page.Items[i].SK] = r
		}
		if !page.More {
			return records, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// detailed adds what DynamoDB says of the tables. Its count is of rows, and
// hours old; rows of streams are taken off.
func (s *Store) detailed(ctx context.Context, infos []store.Info) ([]store.Info, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	gone := make([]bool, len(infos))
	for i := range infos {
		g.Go(func() error {
			d, err := s.describe(ctx, infos[i].Name())
			if errors.Is(err, store.ErrNoTable) {
				gone[i] = true
				return nil
			}
			if err != nil {
				return err
			}
			infos[i].Readings, infos[i].Bytes = max(aws.ToInt64(d.ItemCount)-s.laid.in(infos[i].Table), 0), aws.ToInt64(d.TableSizeBytes)
			if !infos[i].Owned && s.tags {
				return s.adopt(ctx, &infos[i], d)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	kept := infos[:0]
	for i := range infos {
		if !gone[i] {
			kept = append(kept, infos[i])
		}
	}
	return kept, nil
}
