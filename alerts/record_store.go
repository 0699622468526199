package alerts

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// recordStore stores the records of episodes, each in an item of its own, by subject and
// start.
type recordStore struct {
	items store.Items
}

// keyRange selects records by their sort keys, without the prefix of the subject.
type keyRange struct {
	from, to string // "to" is excluded; an empty string means no bound
	order    varve.Order
	limit    int // maximum number of records; 0 means no limit
}

func (s recordStore) load(ctx context.Context, of *subject, r keyRange) (episodes []episode, err error) {
	prefix := of.recordPrefix
	q := store.ItemQuery{
		PK: of.devicePK, From: prefix + r.from, To: prefix + r.to,
		Order: r.order, Limit: r.limit, Consistent: true,
	}
	if r.to == "" {
		q.To = store.PrefixEnd(prefix)
	}
	for {
		page, err := s.items.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read the episodes of rule %s: %w", of.rule.ID, err)
		}
		for i := range page.Items {
			e, err := episodeOf(&page.Items[i], prefix)
			if err != nil {
				return nil, err
			}
			episodes = append(episodes, e)
		}
		if !page.More || r.limit > 0 {
			return episodes, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

func (s recordStore) exists(ctx context.Context, of *subject, start varve.Position) (bool, error) {
	items, err := s.items.Get(ctx, []store.Key{of.recordKey(start)}, true)
	return len(items) > 0, err
}

// put writes the record of an episode. It fails with store.ErrCondition if the stored version is
// not the last known one.
func (s recordStore) put(ctx context.Context, of *subject, e *episode, published bool) error {
	cond := store.IfAbsent()
	if e.isRecorded() {
		cond = store.IfEquals("version", e.version)
	}
	e.published = published
	it := of.recordItem(map[string]varve.Value{}, e)
	if err := s.items.Put(ctx, it, cond); err != nil {
		return fmt.Errorf("record an episode of rule %s: %w", of.rule.ID, err)
	}
	e.version = it.Attrs["version"]
	return nil
}

// remove deletes the record of an episode. It fails with store.ErrCondition if the stored version
// is not the last known one.
func (s recordStore) remove(ctx context.Context, of *subject, e *episode) error {
	if err := s.items.Delete(ctx, of.recordKey(e.start), store.IfEquals("version", e.version)); err != nil {
		return fmt.Errorf("delete the record of an episode of rule %s: %w", of.rule.ID, err)
	}
	return nil
}
