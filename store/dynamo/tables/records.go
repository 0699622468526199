package tables

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/cache"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
)

// Records reads and changes the records of tables.
type Records struct {
	items *items.Items
	admin *admin.Admin
	lists *cache.Cache[string, list] // cached lists of tables; changes of records by this process clear them
}

// maxLists is the largest number of cached lists. Queries use one list for each retention class.
const maxLists = 100

func newLists(age time.Duration) *cache.Cache[string, list] {
	return cache.New[string, list](cache.Limits{Entries: maxLists, Age: age})
}

// read returns the record of a table, or nil if it is missing.
func (s *Records) read(ctx context.Context, t grid.Table) (*record, error) {
	it, err := s.items.GetOne(ctx, recordKey(t))
	if err != nil || it == nil {
		return nil, err
	}
	r, err := parseRecord(it)
	return &r, err
}

func (s *Records) readAll(ctx context.Context) (map[string]record, error) {
	all := map[string]record{}
	q := store.ItemQuery{PK: recordsPK, Consistent: true}
	for {
		page, err := s.items.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			r, err := parseRecord(&page.Items[i])
			if err != nil {
				return nil, err
			}
			all[page.Items[i].SK] = r
		}
		if !page.More {
			return all, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// create writes a record. It fails with ErrCondition if the record exists.
func (s *Records) create(ctx context.Context, t grid.Table, r *record) error {
	return s.items.Put(ctx, r.item(t), store.IfAbsent())
}

// replace writes a record with the next version. It fails with ErrCondition if the record has
// changed since it was read.
func (s *Records) replace(ctx context.Context, t grid.Table, r *record) error {
	read := r.Version
	r.Version++
	return s.items.Put(ctx, r.item(t), sameVersion(read))
}

// changePhase changes the phase of a record. If the record is missing or in another phase, it does
// nothing.
func (s *Records) changePhase(ctx context.Context, t grid.Table, from, to phase) error {
	r, err := s.read(ctx, t)
	if err != nil || r == nil || r.Phase != from {
		return err
	}
	r.Phase = to
	return s.replace(ctx, t, r)
}

func sameVersion(v int64) store.Cond { return store.IfEquals("version", varve.IntValue(v)) }

// delete deletes a record if it is in the given phase. Otherwise it does nothing.
func (s *Records) delete(ctx context.Context, t grid.Table, in phase) error {
	err := s.items.Delete(ctx, recordKey(t), store.IfEquals("phase", varve.StringValue(string(in))))
	return ignoreCondition(err)
}

func ignoreCondition(err error) error {
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// update changes the record of a usable table. It retries if another process has changed the
// record meanwhile. If change fails, update returns the error.
func (s *Records) update(ctx context.Context, t grid.Table, change func(*record) error) error {
	defer s.lists.Clear()
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		r, err := s.read(ctx, t)
		if err != nil {
			return err
		}
		if !r.isUsable() {
			return fmt.Errorf("%s: %w", t, store.ErrNoTable)
		}
		if err := change(r); err != nil {
			return err
		}
		if err = s.replace(ctx, t, r); !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
}

// VersionKey returns the key of the item with the catalog's version.
func VersionKey() store.Key { return store.Key{PK: "CATALOG", SK: recordsPK} }

// changeVersion raises the catalog's version. If the answer to a change is lost, its repetition cannot set
// an earlier version once more, because each change names the version before it.
func (s *Records) changeVersion(ctx context.Context) error {
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		it, err := s.items.GetOne(ctx, VersionKey())
		if err != nil {
			return err
		}
		// The time is the new version if the item is missing, or has the random text of earlier programs.
		last, read := time.Now().UnixNano(), store.IfAbsent()
		if it != nil {
			v := it.Attrs[store.VersionAttr]
			read = store.IfEquals(store.VersionAttr, v)
			if n, err := strconv.ParseInt(v.Text(), 10, 64); err == nil {
				last = n
			}
		}
		err = s.items.Put(ctx, store.Item{Key: VersionKey(), Attrs: map[string]varve.Value{
			store.VersionAttr: varve.StringValue(strconv.FormatInt(last+1, 10)),
		}}, read)
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
}
