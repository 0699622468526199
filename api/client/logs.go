package client

import (
	"context"
	"net/http"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// AddLog adds an entry to a device's log. The call can be retried. If the entry's id is stored with
// other content, the verdict is conflict and the stored entry stays.
func (c DeviceCalls) AddLog(ctx context.Context, device string, l wire.LogPost) (wire.LogAnswer, error) {
	r := sendJSON(http.MethodPost, devicePath(device)+"/logs", l)
	r.accept = []int{http.StatusUnprocessableEntity}
	return getJSON[wire.LogAnswer](ctx, c.connection, r)
}

// LogQuery selects log entries by Device, by Operator, or by the Supervisor of their escalation.
// Exactly one of the three must be set. From, To and During are as in a Query.
type LogQuery struct {
	Device, Operator, Supervisor string
	State                        string // a state, or a prefix as in WARNING*; "" means any; must be empty with Operator
	From, To, During             string
	Order                        varve.Order // by time; the zero value is ascending, unlike the API's default
}

// Logs returns a page of log entries.
func (c DeviceCalls) Logs(ctx context.Context, q LogQuery, l List) (wire.LogList, error) {
	r := request{method: http.MethodGet, path: devicePath(q.Device) + "/logs", query: l.values()}
	switch {
	case q.Operator != "":
		r.path = "/v1/operators/" + segment(q.Operator) + "/logs"
	case q.Supervisor != "":
		r.path = "/v1/supervisors/" + segment(q.Supervisor) + "/escalations"
	}
	for name, text := range map[string]string{"state": q.State, "from": q.From, "to": q.To, "during": q.During, "order": q.Order.String()} {
		if text != "" {
			r.query.Set(name, text)
		}
	}
	return getJSON[wire.LogList](ctx, c.connection, r)
}
