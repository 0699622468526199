package devicelog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Bounds of a list of states with a common prefix.
const (
	// maxByState is the largest number of entries of a device that are read by state and then
	// sorted by time.
	maxByState = registry.MaxLimit
	// maxScanned is the number of entries of any state after which a page ends, if the entries are
	// read by time. That is the case for a supervisor, and for a device with more than maxByState
	// entries in the listed states.
	maxScanned = 10 * registry.MaxLimit
)

// statePrefix returns the common prefix of the states of a query such as WARNING*. Without a
// prefix, the query is for one state, or for all.
func (q *Query) statePrefix() (prefix string, ok bool) { return strings.CutSuffix(q.State, "*") }

type found struct {
	items []store.Item
	last  *store.Item // if "more" is set, the item after which the next page begins
	more  bool
}

// page returns the items of one page. The argument iq is the registry query for q, and finds
// entries of all states if q has a state prefix.
func (l *Log) page(ctx context.Context, q *Query, iq store.ItemQuery) (f found, err error) {
	prefix, ok := q.statePrefix()
	if ok && q.Device != "" {
		if few, err := l.sortStates(ctx, iq, stateLogPrefix+prefix); few != nil || err != nil {
			return few.head(iq.Limit), err
		}
	}
	if ok {
		return l.scanStates(ctx, iq, prefix)
	}
	items, err := l.opts.Items.Query(ctx, iq)
	if err != nil {
		return f, fmt.Errorf("list logs: %w", err)
	}
	return found{items.Items, lastOf(items.Items), items.More}, nil
}

func lastOf(items []store.Item) *store.Item {
	if len(items) == 0 {
		return nil
	}
	return &items[len(items)-1]
}

// head returns the first items up to a limit.
func (f *found) head(limit int) found {
	if f == nil {
		return found{}
	}
	n := min(limit, len(f.items))
	return found{f.items[:n], lastOf(f.items[:n]), len(f.items) > n}
}

// sortStates reads the entries of a device by state with one ordered query. It selects the states whose
// keys begin with the prefix, and sorts the entries in the range of iq by time. It returns nil if the
// device has more than maxByState entries in the selected states.
func (l *Log) sortStates(ctx context.Context, iq store.ItemQuery, prefix string) (*found, error) {
	page, err := l.opts.Items.Query(ctx, store.ItemQuery{
		PK: iq.PK, From: prefix, To: store.PrefixEnd(prefix), Limit: maxByState, Consistent: true,
	})
	if err != nil {
		return nil, fmt.Errorf("list logs by state: %w", err)
	}
	if page.More {
		return nil, nil
	}
	f := &found{}
	for _, it := range page.Items {
		// After stateLogPrefix come the state, the time and the id. Remove the state, so that the keys sort by
		// time.
		_, place, _ := strings.Cut(strings.TrimPrefix(it.SK, stateLogPrefix), "#")
		it.SK = logPrefix + place
		if it.SK >= iq.From && it.SK < iq.To && (iq.After == nil || inOrder(iq.Order, iq.After.SK, it.SK)) {
			f.items = append(f.items, it)
		}
	}
	slices.SortFunc(f.items, func(a, b store.Item) int {
		if iq.Order == varve.Descending {
			a, b = b, a
		}
		return strings.Compare(a.SK, b.SK)
	})
	return f, nil
}

// inOrder reports whether sort key b comes after a.
func inOrder(o varve.Order, a, b string) bool {
	if o == varve.Descending {
		return b < a
	}
	return b > a
}

// scanStates reads entries of all states in order of time, and selects the states with the prefix.
func (l *Log) scanStates(ctx context.Context, iq store.ItemQuery, prefix string) (f found, err error) {
	limit := iq.Limit
	iq.Limit = registry.MaxLimit
	for scanned := 0; ; {
		page, err := l.opts.Items.Query(ctx, iq)
		if err != nil {
			return f, fmt.Errorf("list logs of states: %w", err)
		}
		for i := range page.Items {
			it := &page.Items[i]
			if !strings.HasPrefix(it.Attrs["state"].Text(), prefix) {
				continue
			}
			if len(f.items) == limit {
				f.last, f.more = lastOf(f.items), true
				return f, nil
			}
			f.items = append(f.items, *it)
		}
		scanned += len(page.Items)
		last := lastOf(page.Items)
		if !page.More || last == nil {
			return f, nil
		}
		if scanned >= maxScanned {
			f.last, f.more = last, true
			return f, nil
		}
		iq.After = last
	}
}
