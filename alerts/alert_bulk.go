package alerts

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
)

// AlertChoice selects open alerts to resolve. At least one of IDs, Rule, Device, Severity and All
// must be set. If several of Rule, Device and Severity are set, an alert must match each of them.
// IDs and All cannot be combined with each other, or with Rule, Device and Severity.
type AlertChoice struct {
	Tenant   string
	IDs      []string // if set, Cursor must be empty; ids of resolved alerts are accepted
	Rule     string
	Device   string
	Severity Severity
	All      bool // if true, selects all open alerts of the tenant
	Limit    int  // maximum number of alerts in a page; 0 means registry.DefaultLimit
	Cursor   string
}

// ResolvedPage is the result for one page of an AlertChoice.
type ResolvedPage struct {
	Resolved []Alert  // the alerts that this call resolved
	Missing  []string // ids for which no alert is stored
	Next     string   // the cursor of the next page; "" at the end
}

// ResolveAlerts resolves a page of alerts by hand. The caller repeats the call with Next as the
// Cursor, until Next is empty. A failed call can be retried.
func (m *Monitor) ResolveAlerts(ctx context.Context, c AlertChoice) (page ResolvedPage, err error) {
	if err := c.validate(); err != nil {
		return page, err
	}
	b := bulkResolver{alerts: m.stores.alerts, tenant: c.Tenant}
	if len(c.IDs) > 0 {
		err := b.resolveIDs(ctx, &c)
		return b.page, err
	}
	list, err := m.Alerts(ctx, AlertList{
		Tenant: c.Tenant, Device: c.Device, Severity: c.Severity, Rule: c.Rule, State: Open, Limit: c.Limit, Cursor: c.Cursor,
	})
	if err != nil {
		return page, err
	}
	for i := range list.Items {
		if err := b.resolve(ctx, list.Items[i].ID); err != nil {
			return b.page, err
		}
	}
	b.page.Next = list.Next
	return b.page, nil
}

// bulkResolver resolves alerts one by one, and collects the resolved ones in a page.
type bulkResolver struct {
	alerts *alertStore
	tenant string
	page   ResolvedPage
}

func (c *AlertChoice) validate() error {
	chosen := c.Rule != "" || c.Device != "" || c.Severity != ""
	switch {
	case len(c.IDs) > registry.MaxLimit:
		return varve.InvalidParam("ids", "%d ids are too many: send at most %d at a time", len(c.IDs), registry.MaxLimit)
	case len(c.IDs) > 0 && (chosen || c.All || c.Cursor != ""):
		return varve.InvalidParam("ids", "ids stand alone: leave out the other parameters")
	case c.All && chosen:
		return varve.InvalidParam("all", "all stands alone: leave it out, or the other parameters")
	case len(c.IDs) == 0 && !c.All && !chosen:
		return varve.InvalidParam("ids", "no alerts are chosen: use ids, rule, device, severity, or all")
	case c.Rule != "":
		return checkRuleID(c.Rule)
	}
	return nil
}

// resolveIDs resolves the alerts with the chosen ids, and lists unknown ids as missing.
func (b *bulkResolver) resolveIDs(ctx context.Context, c *AlertChoice) error {
	for _, id := range c.IDs {
		err := b.resolve(ctx, id)
		if varve.FailureOf(err) == varve.NotFound {
			b.page.Missing = append(b.page.Missing, id)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// resolve resolves one alert, and adds it to the page if it was open.
func (b *bulkResolver) resolve(ctx context.Context, id string) error {
	done := false
	a, err := b.alerts.change(ctx, b.tenant, id, func(a *Alert) bool {
		done = a.resolve(ByHand, b.alerts.time())
		return done
	})
	if err != nil {
		return err
	}
	if done && !slices.ContainsFunc(b.page.Resolved, func(x Alert) bool { return x.ID == a.ID }) {
		b.page.Resolved = append(b.page.Resolved, a)
	}
	return nil
}
