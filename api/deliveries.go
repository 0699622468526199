package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
)

type deliveriesHandler struct {
	*responder
	items store.Items
}

func (h *deliveriesHandler) addRoutes(o *operations) {
	huma.Register(o.api, deviceOp("alerts", "list-deliveries", http.MethodGet, "/v1/alerts/deliveries",
		"The deliveries of alerts to notifiers, the last queued alert first",
		"A page has the deliveries of limit alerts. They are stored for 30 days after the alert is resolved."), h.listDeliveries)
}

type deliveriesQuery struct {
	State string `query:"state" doc:"only deliveries of this state: pending, delivered, failed or silent; default: all"`
	Paging
}

func (h *deliveriesHandler) listDeliveries(ctx context.Context, in *deliveriesQuery) (*reply[wire.DeliveryList], error) {
	page, err := notify.Deliveries(ctx, h.items, notify.DeliveryList{
		Tenant: tenantOf(ctx), State: notify.State(in.State), Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, h.problem(prefixParam(err, "query"))
	}
	body := wire.DeliveryList{Deliveries: make([]wire.DeliveryBody, len(page.Items)), Next: page.Next}
	for i := range page.Items {
		d := &page.Items[i]
		body.Deliveries[i] = wire.DeliveryBody{
			Alert: d.Alert, Device: d.Device, Rule: d.Rule, Severity: d.Severity, Type: string(d.Type), Notifier: d.Notifier, State: string(d.State),
			Message: d.Message, Digest: d.Digest, EventTime: d.EventTime, QueuedAt: d.QueuedAt, NextAt: orNull(d.NextAt), EndedAt: orNull(d.EndedAt),
			Attempts: d.Attempts, Error: d.Error,
		}
	}
	return &reply[wire.DeliveryList]{body}, nil
}
