package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	recordPrefix = "DELIVERY#"
	// recordKind is the kind of the partitions that list records by state, in the first index.
	recordKind = "DELIVERY"
	// recordLife is the lifetime of the record of a resolved alert without pending deliveries, from
	// its last change on.
	recordLife = 30 * 24 * time.Hour
	// writers is the number of concurrent writes.
	writers = 32
	// maxChanges bounds the changes of an atomic write.
	maxChanges = 500
)

type records struct {
	items store.Items
	now   func() time.Time
}

func digits(n int) string { return strconv.Itoa(n) }

func recordKey(n alerts.AlertName) store.Key {
	return store.Key{PK: registry.DevicePK(n.Tenant, n.Device), SK: recordPrefix + n.Alert}
}

// load returns the records of alerts. For an alert without a record, it returns an empty one.
func (s *records) load(ctx context.Context, names []alerts.AlertName) (map[alerts.AlertName]*record, error) {
	keys, byKey := make([]store.Key, len(names)), make(map[store.Key]alerts.AlertName, len(names))
	all := make(map[alerts.AlertName]*record, len(names))
	for i, n := range names {
		keys[i] = recordKey(n)
		byKey[keys[i]] = n
		all[n] = &record{AlertName: n}
	}
	items, err := s.items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	for i := range items {
		r, err := recordOf(&items[i])
		if err != nil {
			return nil, err
		}
		all[byKey[items[i].Key]] = r
	}
	return all, nil
}

// reportedOpen calls a function with the alerts of a tenant that were reported as open, page by page.
func (s *records) reportedOpen(ctx context.Context, tenant string, do func(context.Context, []alerts.AlertName) error) error {
	span := registry.Span{Index: store.GSI1, Prefix: recordPrefix, Limit: page, PKs: registry.AllShards(recordKind, tenant, Pending, Failed, Delivered)}
	for {
		items, more, err := registry.Merge(ctx, s.items, span)
		if err != nil {
			return fmt.Errorf("list deliveries: %w", err)
		}
		var names []alerts.AlertName
		for i := range items {
			r, err := recordOf(&items[i])
			if err != nil {
				return err
			}
			if r.Reported == alerts.Open {
				names = append(names, r.AlertName)
			}
		}
		if err := do(ctx, names); err != nil || !more {
			return err
		}
		span.After = strings.TrimPrefix(items[len(items)-1].GSI1.SK, recordPrefix)
	}
}

// item returns the next version of a record.
func (s *records) item(r *record) (store.Item, error) {
	data, err := json.Marshal(&r.content)
	if err != nil {
		return store.Item{}, fmt.Errorf("encode the deliveries of alert %s: %w", r.Alert, err)
	}
	if r.created.IsZero() {
		r.created = s.now().UTC()
	}
	it := store.Item{Key: recordKey(r.AlertName), Attrs: map[string]varve.Value{
		"data": varve.StringValue(string(data)), "version": varve.IntValue(r.version + 1),
	}}
	registry.PutText(it.Attrs, "tenant", r.Tenant)
	registry.PutText(it.Attrs, "device", r.Device)
	registry.PutText(it.Attrs, "alert", r.Alert)
	registry.PutTime(it.Attrs, "created", r.created)
	state := r.state()
	it.GSI1 = store.Key{
		PK: registry.ShardPK(recordKind, r.Tenant, string(state), r.Device),
		SK: recordPrefix + registry.TimeText(r.created) + "#" + r.Alert,
	}
	if state != Pending && r.Reported != alerts.Open {
		it.Expires = s.now().Add(recordLife).UTC().Truncate(time.Second)
	}
	return it, nil
}

// recordOf decodes a record. It inverts item.
func recordOf(it *store.Item) (*record, error) {
	a := registry.NewReader(it)
	r := &record{
		AlertName: alerts.AlertName{Tenant: a.Text("tenant"), Device: a.Text("device"), Alert: a.Text("alert")},
		created:   a.Time("created"), version: registry.Int(it.Attrs["version"]),
	}
	if err := json.Unmarshal([]byte(a.Text("data")), &r.content); err != nil {
		a.Fail("data", err)
	}
	return r, a.Err()
}

var errSuperseded = errors.New("another process delivers alerts now")

// refusedError reports records that the store refuses as invalid, for example as too long. All
// other records of the write are stored.
type refusedError struct {
	records []*record
	err     error // the error of one of them
}

// Error implements error.
func (e *refusedError) Error() string { return "write deliveries: " + e.err.Error() }

// Unwrap returns the error of the store.
func (e *refusedError) Unwrap() error { return e.err }

// write writes records, each in its next version. If another process has changed one of them, write
// fails with errSuperseded. If the store refuses some of them, write stores the others, and fails
// with a *refusedError. After any other error, some of the records may be stored.
func (s *records) write(ctx context.Context, list []*record) error {
	changes := make([]store.Change, len(list))
	for i, r := range list {
		it, err := s.item(r)
		if err != nil {
			return err
		}
		changes[i] = store.Change{Item: it, Conds: []store.Cond{store.IfAbsent()}}
		if r.version > 0 {
			changes[i].Conds[0] = store.IfEquals("version", varve.IntValue(r.version))
		}
	}
	refusals, err := s.apply(ctx, changes)
	if errors.Is(err, store.ErrCondition) {
		return errSuperseded
	}
	if err != nil {
		return fmt.Errorf("write deliveries: %w", err)
	}
	var refused refusedError
	for i, r := range list {
		if refusals[i] != nil {
			refused.records, refused.err = append(refused.records, r), refusals[i]
		} else {
			r.version++
		}
	}
	if refused.err != nil {
		return &refused
	}
	return nil
}

// apply writes changes. For each change that the store refuses as invalid, it returns the error.
func (s *records) apply(ctx context.Context, changes []store.Change) (refusals []error, err error) {
	refusals = make([]error, len(changes))
	if atomic, ok := s.items.(store.AtomicItems); ok { // such a store has no limit that a record may exceed
		for part := range slices.Chunk(changes, maxChanges) {
			if err := atomic.Apply(ctx, part); err != nil {
				return nil, err
			}
		}
		return refusals, nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := range changes {
		g.Go(func() error {
			err := s.items.Put(ctx, changes[i].Item, changes[i].Conds...)
			if err != nil && varve.FailureOf(err) == varve.Invalid {
				refusals[i] = err
				return nil
			}
			return err
		})
	}
	return refusals, g.Wait()
}
