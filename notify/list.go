package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Delivery is the state of one message for one notifier.
type Delivery struct {
	alerts.AlertName
	Rule      string
	Severity  string
	Message   string // the message's id
	Digest    string // id of the digest that counts the message; "" if it is sent alone
	Type      Type
	Notifier  string
	State     State
	EventTime time.Time
	QueuedAt  time.Time
	NextAt    time.Time // earliest time of the next attempt; zero if the delivery has ended
	EndedAt   time.Time // zero if the delivery is pending
	Attempts  int       // number of attempts; failed attempts for a digest may be missing, because they are not stored immediately
	Error     string    // error of the last attempt, or the reason of the failure; "" for a digest before it ends
}

// DeliveryList selects deliveries. A page has the deliveries of up to Limit alerts.
type DeliveryList struct {
	Tenant string
	State  State // "" means any
	Limit  int   // maximum number of alerts in a page; 0 means registry.DefaultLimit
	Cursor string
}

// Deliveries returns a page of deliveries, grouped by alert. The alert whose first message is the
// newest comes first. An empty page may be followed by more pages.
func Deliveries(ctx context.Context, items store.Items, l DeliveryList) (page registry.Page[Delivery], err error) {
	words := []State{Pending, Failed, Delivered}
	switch {
	case l.State != "" && !slices.Contains(States(), l.State):
		return page, varve.InvalidParam("state", "%q is unknown: use pending, delivered, failed or silent", string(l.State))
	case l.State == Pending:
		words = words[:1]
	case l.State == Failed:
		words = words[:2] // the state of a record with pending and failed deliveries is Pending
	}
	s := registry.Span{Index: store.GSI1, Prefix: recordPrefix, Order: varve.Descending, PKs: registry.AllShards(recordKind, l.Tenant, words...)}
	if s.Limit, err = registry.PageLimit(l.Limit); err != nil {
		return page, err
	}
	question := []string{"deliveries", l.Tenant, string(l.State)}
	if l.Cursor != "" {
		place, err := registry.ParseCursor(l.Cursor, question, 1)
		if err != nil {
			return page, err
		}
		s.After = place[0]
	}
	list, more, err := registry.Merge(ctx, items, s)
	if err != nil {
		return page, fmt.Errorf("list deliveries: %w", err)
	}
	for i := range list {
		r, err := recordOf(&list[i])
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, r.deliveries(l.State)...)
	}
	if more {
		page.Next = registry.EncodeCursor(question, strings.TrimPrefix(list[len(list)-1].GSI1.SK, recordPrefix))
	}
	return page, nil
}

// deliveries returns the deliveries of a record that have the given state, the newest first. If the
// state is empty, it returns all.
func (r *record) deliveries(state State) (all []Delivery) {
	for _, d := range slices.Backward(r.Deliveries) {
		if state != "" && d.State != state {
			continue
		}
		all = append(all, Delivery{
			AlertName: r.AlertName, Rule: r.Rule, Severity: r.Severity, Message: d.Message, Digest: d.Digest, Type: d.Type, Notifier: d.Notifier,
			State: d.State, EventTime: d.Event, QueuedAt: d.Queued, NextAt: d.Next, EndedAt: d.Ended, Attempts: d.Attempts, Error: d.Error,
		})
	}
	return all
}
