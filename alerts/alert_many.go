package alerts

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
)

// AlertChoice says which open alerts to resolve. At least one of its parts is
// set: what is chosen has all of those that are.
type AlertChoice struct {
	Tenant   string
	IDs      []string // these, open or not
	Rule     string
	Device   string
	Severity Severity
	All      bool // of the tenant
	Limit    int  // of a page; 0 is registry.DefaultLimit
	Cursor   string
}

// ResolvedPage says what became of a page of a choice.
type ResolvedPage struct {
	Resolved []Alert  // by this call
	Missing  []string // of the ids, those that no alert ever had
	Next     string   // the cursor of the page that follows; "" at the end
}

// ResolveAlerts resolves a page of alerts by hand. It may be repeated until there
// is no next page, and after a failure.
func (m *Monitor) ResolveAlerts(ctx context.Context, c AlertChoice) (page ResolvedPage, err error) {
	if err := c.validate(); err != nil {
		return page, err
	}
	if len(c.IDs) > 0 {
		return m.resolveIDs(ctx, &c)
	}
	list, err := m.Alerts(ctx, AlertList{
		Tenant: c.Tenant, Device: c.Device, Severity: c.Severity, Rule: c.Rule, State: Open, Limit: c.Limit, Cursor: c.Cursor,
	})
	if err != nil {
		return page, err
	}
	for i := range list.Items {
		if err := m.resolveChosen(ctx, &c, list.Items[i].ID, &page); err != nil {
			return page, err
		}
	}
	page.Next = list.Next
	return page, nil
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

func (m *Monitor) resolveIDs(ctx context.Context, c *AlertChoice) (page ResolvedPage, err error) {
	for _, id := range c.IDs {
		err := m.resolveChosen(ctx, c, id, &page)
		if varve.FailureOf(err) == varve.NotFound {
			page.Missing = append(page.Missing, id)
		} else if err != nil {
			return page, err
		}
	}
	return page, nil
}

// resolveChosen resolves one alert, and adds it to the page if it was open.
func (m *Monitor) resolveChosen(ctx context.Context, c *AlertChoice, id string, page *ResolvedPage) error {
	done := false
	a, err := m.changeAlert(ctx, c.Tenant, id, func(a *Alert) bool {
		done = m.resolve(a, ByHand)
		return done
	})
	if err != nil {
		return err
	}
	if done && !slices.ContainsFunc(page.Resolved, func(b Alert) bool { return b.ID == a.ID }) {
		page.Resolved = append(page.Resolved, a)
	}
	return nil
}
