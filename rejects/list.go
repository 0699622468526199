package rejects

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Query selects rejects of a tenant. The fields that are set must all match.
type Query struct {
	Tenant string
	Stream string
	Device string
	Door   string
	Code   varve.Code
	Since  time.Time // if not zero, rejects whose last arrival is earlier are omitted
	Until  time.Time // if not zero, rejects whose last arrival is not earlier are omitted
	// Asked is the text from which Since was parsed, such as 24h. Such a text means a later time on
	// the next page, so cursors contain the time of the first page.
	Asked  string
	Limit  int // maximum number of rejects in a page; 0 means registry.DefaultLimit
	Cursor string
}

func (q *Query) matches(r *Reject) bool {
	return (q.Device == "" || q.Device == r.Device) && (q.Door == "" || q.Door == r.Door) && (q.Code == "" || q.Code == r.Code)
}

// maxScanned is the number of items after which a page ends, even if it is short.
const maxScanned = 5000

// List returns a page of rejects, the latest arrival first. A page may be short or empty although
// more pages follow.
func (g *Registry) List(ctx context.Context, q Query) (page registry.Page[Reject], err error) {
	limit, err := registry.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	if g == nil {
		return page, nil
	}
	g.flush(ctx)
	iq := store.ItemQuery{Index: store.GSI1, PK: tenantPK(q.Tenant), Order: varve.Descending, Limit: limit}
	if q.Stream != "" {
		iq.Index, iq.PK = store.GSI2, streamPK(q.Tenant, q.Stream)
	}
	if q.Device != "" || q.Door != "" || q.Code != "" {
		iq.Limit = registry.MaxLimit // most items may not match
	}
	question := []string{"rejects", iq.PK, q.Device, q.Door, string(q.Code), q.Asked}
	if q.Cursor != "" {
		if iq.After, err = q.resume(question, &iq); err != nil {
			return page, err
		}
	}
	if !q.Since.IsZero() {
		iq.From = registry.TimeText(q.Since)
	}
	if !q.Until.IsZero() {
		iq.To = registry.TimeText(q.Until)
	}
	for scanned := 0; ; {
		part, err := g.opts.Items.Query(ctx, iq)
		if err != nil {
			return page, fmt.Errorf("list rejects: %w", err)
		}
		for i := range part.Items {
			it := &part.Items[i]
			r, err := rejectOf(it)
			if err != nil {
				return page, err
			}
			if q.matches(&r) {
				page.Items = append(page.Items, r)
			}
			scanned++
			isLast := i == len(part.Items)-1 && !part.More
			if (len(page.Items) == limit || scanned >= maxScanned) && !isLast {
				page.Next = registry.EncodeCursor(question, it.SK, it.In(iq.Index).SK, iq.From)
				return page, nil
			}
		}
		if !part.More || len(part.Items) == 0 {
			return page, nil
		}
		iq.After = &part.Items[len(part.Items)-1]
	}
}

// resume sets Since from the cursor, and returns the last item of the previous page.
func (q *Query) resume(question []string, iq *store.ItemQuery) (*store.Item, error) {
	place, err := registry.ParseCursor(q.Cursor, question, 3)
	if err != nil {
		return nil, err
	}
	if q.Since = (time.Time{}); place[2] != "" {
		if q.Since, err = registry.ParseTime(place[2]); err != nil {
			return nil, registry.InvalidCursor()
		}
	}
	it := &store.Item{Key: keyOf(q.Tenant, place[0])}
	if at := (store.Key{PK: iq.PK, SK: place[1]}); iq.Index == store.GSI2 {
		it.GSI2 = at
	} else {
		it.GSI1 = at
	}
	return it, nil
}

// near is the assumed maximum delay between the event time and the arrival of a reading. Find
// applies it to rejects without an event time.
const near = time.Hour

// maxFound limits the rejects that Find returns, and maxPages the pages that it reads.
const (
	maxFound = 3
	maxPages = 5
)

// Find returns up to three rejects of a device that explain why readings of a window are missing.
//
// These are the rejects with an event time in the window. If none exists, Find returns rejects
// without an event time that arrived in the window or up to an hour later. It reads only the
// latest rejects of the device.
func (g *Registry) Find(ctx context.Context, s varve.Series, w varve.Window) (found []Reject, err error) {
	q := Query{Tenant: s.Tenant, Stream: s.Stream, Device: s.Device, Limit: registry.MaxLimit}
	var maybe []Reject
	for pages := 0; pages < maxPages && len(found) < maxFound; pages++ {
		page, err := g.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			switch r := &page.Items[i]; {
			case !r.Time.IsZero() && w.Contains(r.Time):
				found = append(found, *r)
			case r.Time.IsZero() && r.First.Before(w.To.Add(near)) && !r.Last.Before(w.From):
				maybe = append(maybe, *r)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if len(found) == 0 {
		found = maybe
	}
	return found[:min(len(found), maxFound)], nil
}
