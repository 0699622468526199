package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/timefmt"
)

type logsHandler struct {
	*responder
	*directory
	log *devicelog.Log
	now func() time.Time
}

const aboutStates = "With a prefix of states, a page may be short or empty and not the last."

func (h *logsHandler) addRoutes(o *operations) {
	const tag, logs = "logs", "/v1/devices/{device}/logs"
	add := deviceOp(tag, "add-log", http.MethodPost, logs, "Write an entry of a device's log",
		"Sending it again is harmless: what has the same time and id, or content, is the same entry. "+
			"422 with the verdict conflict if the id is stored with other content: the answer has both, and the stored one stays.")
	add.Responses = o.responses(reflect.TypeFor[wire.LogAnswer](), "200", "422")
	huma.Register(o.api, add, h.postLog)
	huma.Register(o.api, deviceOp(tag, "list-logs", http.MethodGet, logs, "A device's log, over all states or of some", aboutStates), h.listLogs)
	huma.Register(o.api, deviceOp(tag, "list-logs-of-operator", http.MethodGet, "/v1/operators/{operator}/logs", "The entries of an operator", ""), h.listOperatorLogs)
	huma.Register(o.api, deviceOp(tag, "list-escalations", http.MethodGet, "/v1/supervisors/{supervisor}/escalations",
		"The entries that were escalated to a supervisor, over all states or of some", aboutStates), h.listEscalations)
}

// LogWindow has the parameters of a list of log entries. It is exported because huma ignores
// unexported embedded types.
type LogWindow struct {
	From   string `query:"from" doc:"from this time on: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning"`
	To     string `query:"to" doc:"before this time; default: the end"`
	During string `query:"during" doc:"instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12, 2024-12-01 or 2024-12-01T14"`
	Order  string `query:"order" enum:"asc,desc" doc:"by time; default desc: the newest first"`
	Paging
}

type logPost struct {
	Device string `path:"device" doc:"the device"`
	Body   wire.LogPost
}

type deviceLogs struct {
	Device string `path:"device" doc:"the device"`
	State  string `query:"state" doc:"only this state, or the states with a prefix, as in WARNING*; default: all"`
	LogWindow
}

type operatorLogs struct {
	Operator string `path:"operator" doc:"the operator"`
	LogWindow
}

type escalations struct {
	Supervisor string `path:"supervisor" doc:"the supervisor"`
	State      string `query:"state" doc:"only this state, or the states with a prefix, as in WARNING*; default: all"`
	LogWindow
}

type logReply struct {
	Status int
	Body   wire.LogAnswer
}

func (h *logsHandler) postLog(ctx context.Context, in *logPost) (*logReply, error) {
	sent, err := logFrom(in)
	var l devicelog.Entry
	var v varve.Verdict
	if err == nil {
		sent.Tenant = tenantOf(ctx)
		l, v, err = h.log.Add(ctx, sent)
	}
	if err != nil {
		return nil, h.problem(prefixParam(err, "body", "device"))
	}
	if v.Outcome != varve.Rejected {
		return &logReply{http.StatusOK, wire.LogAnswer{Verdict: v.Outcome.String(), Log: logBody(&l)}}, nil
	}
	body := logBody(&sent)
	return &logReply{http.StatusUnprocessableEntity, wire.LogAnswer{Verdict: string(v.Code), Message: v.Message, Log: logBody(&l), Sent: &body}}, nil
}

func logFrom(in *logPost) (l devicelog.Entry, err error) {
	b := &in.Body
	l = devicelog.Entry{Device: in.Device, State: b.State, Message: b.Message, Operator: b.Operator, EscalatedTo: b.EscalatedTo}
	text := string(b.Time)
	if json.Unmarshal(b.Time, &text) != nil {
		text = string(b.Time) // the time is a JSON number
	}
	var v varve.Verdict
	if l.Time, v = (wire.TimeFormat{}).Parse(text); v.Outcome == varve.Rejected {
		said, _, _ := strings.Cut(v.Message, " or precision=") // log entries have no parameter precision
		return l, varve.InvalidParam("time", "%s", said)
	}
	if b.ID != "" {
		if l.ID, err = varve.ParseID(b.ID); err != nil {
			return l, varve.InvalidParam("id", "%s", err)
		}
	}
	l.Attributes, err = jsonValue("attributes", b.Attributes)
	return l, err
}

func (h *logsHandler) listLogs(ctx context.Context, in *deviceLogs) (*reply[wire.LogList], error) {
	return h.logPage(ctx, &in.LogWindow, devicelog.Query{Device: in.Device, State: in.State})
}

func (h *logsHandler) listOperatorLogs(ctx context.Context, in *operatorLogs) (*reply[wire.LogList], error) {
	return h.logPage(ctx, &in.LogWindow, devicelog.Query{Operator: in.Operator})
}

func (h *logsHandler) listEscalations(ctx context.Context, in *escalations) (*reply[wire.LogList], error) {
	return h.logPage(ctx, &in.LogWindow, devicelog.Query{Supervisor: in.Supervisor, State: in.State})
}

// logPage returns one page of log entries. All routes that list log entries call it.
func (h *logsHandler) logPage(ctx context.Context, in *LogWindow, l devicelog.Query) (*reply[wire.LogList], error) {
	w, err := in.window(h.now())
	if err != nil {
		return nil, h.problem(err)
	}
	l.Tenant, l.Window, l.Limit, l.Cursor, l.Asked = tenantOf(ctx), w, in.Limit, in.Cursor, []string{in.From, in.To, in.During}
	if l.Order = varve.Descending; in.Order == "asc" {
		l.Order = varve.Ascending
	}
	page, err := h.log.List(ctx, l)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query", "device", "operator", "supervisor"))
	}
	if len(page.Items) == 0 && page.Next == "" && l.Device != "" {
		if err := h.checkLogs(ctx, l.Tenant, l.Device); err != nil {
			return nil, h.problem(err)
		}
	}
	body := wire.LogList{Logs: make([]wire.LogBody, len(page.Items)), Next: page.Next}
	for i := range page.Items {
		body.Logs[i] = logBody(&page.Items[i])
	}
	return &reply[wire.LogList]{body}, nil
}

// checkLogs fails with NotFound if a device is not registered and has no log entries.
func (h *logsHandler) checkLogs(ctx context.Context, tenant, device string) error {
	missing := h.checkDevice(ctx, tenant, device)
	if varve.FailureOf(missing) != varve.NotFound {
		return missing
	}
	page, err := h.log.List(ctx, devicelog.Query{Tenant: tenant, Device: device, Window: varve.AllTime(), Limit: 1})
	if err != nil || len(page.Items) > 0 {
		return err
	}
	return missing
}

func (in *LogWindow) window(now time.Time) (w varve.Window, err error) {
	all := varve.AllTime()
	if in.During != "" {
		if in.From != "" || in.To != "" {
			return w, varve.InvalidParam("query.during", "it stands for from and to: leave it out, or leave those out")
		}
		if w, err = timefmt.ParseWindow(in.During); err != nil {
			return w, varve.InvalidParam("query.during", "%s", err)
		}
		return w, nil
	}
	if w.From, err = momentIn("from", in.From, now, all.From); err != nil {
		return w, err
	}
	w.To, err = momentIn("to", in.To, now, all.To)
	return w, err
}

func logBody(l *devicelog.Entry) wire.LogBody {
	return wire.LogBody{
		Device: l.Device, Time: l.Time, ID: l.ID.String(), Arrived: l.Arrived, State: l.State, Message: l.Message,
		Operator: l.Operator, EscalatedTo: l.EscalatedTo, Attributes: rawJSON(l.Attributes),
	}
}
