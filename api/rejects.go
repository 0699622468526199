package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/timefmt"
)

type rejectsHandler struct {
	*responder
	*directory
	registry *rejects.Registry
	ingester *ingest.Ingester
	lines    *wire.LineMapping
	now      func() time.Time
}

func (h *rejectsHandler) addRoutes(o *operations) {
	const tag, one = "rejects", "/v1/rejects/{id}"
	huma.Register(o.api, deviceOp(tag, "list-rejects", http.MethodGet, "/v1/rejects", "The stored rejects, the latest arrival first",
		"A reject is a reading that was rejected permanently, with its text and verdict. With filters, a page may be short or empty and not the last."), h.listRejects)
	huma.Register(o.api, deviceOp(tag, "get-reject", http.MethodGet, one, "A reject", ""), h.getReject)
	huma.Register(o.api, deviceOp(tag, "replay-reject", http.MethodPost, one+"/replay", "Replay a reject",
		"It rereads the text with other options, and stores the readings. After they are durable, it deletes the reject. A repeated replay stores nothing twice."), h.replayReject)
	huma.Register(o.api, deviceOp(tag, "replay-rejects", http.MethodPost, "/v1/rejects/replay", "Replay many rejects",
		"It replays the selected rejects, up to limit at a time. Repeat it with next as cursor until next is missing."), h.replayRejects)
	huma.Register(o.api, deviceOp(tag, "delete-reject", http.MethodDelete, one, "Delete a reject", "A missing reject is not an error."), h.deleteReject)
	huma.Register(o.api, deviceOp(tag, "delete-rejects", http.MethodDelete, "/v1/rejects", "Delete many rejects",
		"It deletes the selected rejects, up to limit at a time. Repeat it with next as cursor until next is missing."), h.deleteRejects)
}

type rejectsQuery struct {
	Stream string `query:"stream" doc:"only rejects of this stream"`
	Device string `query:"device" doc:"only rejects of this device"`
	Code   string `query:"code" doc:"only rejects with this code, such as time_in_future"`
	Door   string `query:"door" doc:"only rejects that arrived through this protocol, such as http or mqtt"`
	Since  string `query:"since" doc:"last arrival not before this time: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo"`
	From   string `query:"from" doc:"the same as since"`
	To     string `query:"to" doc:"last arrival before this time: as since"`
	During string `query:"during" doc:"instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12 or 2024-12-01"`
	Paging
}

type rejectPath struct {
	ID string `path:"id" doc:"the reject's id"`
}

type rejectReplay struct {
	ID   string `path:"id" doc:"the reject's id"`
	Body wire.ReplayOptions
}

type rejectsReplay struct{ Body wire.ReplayRequest }

func (h *rejectsHandler) page(ctx context.Context, sel wire.RejectSelection, p Paging) (registry.Page[rejects.Reject], error) {
	q := rejects.Query{
		Tenant: tenantOf(ctx), Stream: sel.Stream, Device: sel.Device, Code: varve.Code(sel.Code), Door: sel.Door,
		Asked: sel.Since + sel.From + sel.During, Limit: p.Limit, Cursor: p.Cursor,
	}
	var err error
	if q.Since, q.Until, err = arrivalsOf(&sel, h.now()); err != nil {
		return registry.Page[rejects.Reject]{}, err
	}
	return h.registry.List(ctx, q)
}

// arrivalsOf returns the range of the last arrivals of the selected rejects, [since, until). The zero
// time means no limit.
func arrivalsOf(sel *wire.RejectSelection, now time.Time) (since, until time.Time, err error) {
	if sel.Since != "" && (sel.From != "" || sel.During != "") {
		return since, until, varve.InvalidParam("since", "means the same as from: omit it, or omit from and during")
	}
	if sel.During != "" {
		w, err := windowOf(url.Values{"from": {sel.From}, "to": {sel.To}, "during": {sel.During}}, now)
		return w.From, w.To, err
	}
	name, text := "since", sel.Since
	if sel.From != "" {
		name, text = "from", sel.From
	}
	if since, err = momentIn(name, text, now, time.Time{}); err == nil {
		until, err = momentIn("to", sel.To, now, time.Time{})
	}
	if err == nil && !until.IsZero() && !since.Before(until) {
		err = varve.InvalidParam("to", "is not after %s: exchange them", name)
	}
	return since, until, err
}

func (in *rejectsQuery) selection() wire.RejectSelection {
	return wire.RejectSelection{Stream: in.Stream, Device: in.Device, Code: in.Code, Door: in.Door, Since: in.Since, From: in.From, To: in.To, During: in.During}
}

func (h *rejectsHandler) listRejects(ctx context.Context, in *rejectsQuery) (*reply[wire.RejectList], error) {
	page, err := h.page(ctx, in.selection(), in.Paging)
	if err != nil {
		return nil, h.problem(rejectParam(err))
	}
	body := wire.RejectList{Rejects: make([]wire.RejectBody, len(page.Items)), Next: page.Next}
	if len(page.Items) == 0 && page.Next == "" {
		if body.Notes, err = h.noteNames(ctx, "query", varve.Series{Tenant: tenantOf(ctx), Stream: in.Stream, Device: in.Device}); err != nil {
			return nil, h.problem(err)
		}
	}
	for i := range page.Items {
		body.Rejects[i] = rejectBody(&page.Items[i])
	}
	return &reply[wire.RejectList]{body}, nil
}

// rejectParam adds the prefix "query." to the parameter of an error, unless the parameter has the prefix
// already.
func rejectParam(err error) error {
	if e := classify(err); strings.HasPrefix(e.Param, "query.") {
		return err
	}
	return prefixParam(err, "query")
}

func (h *rejectsHandler) getReject(ctx context.Context, in *rejectPath) (*reply[wire.RejectBody], error) {
	r, err := h.registry.Get(ctx, tenantOf(ctx), in.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.RejectBody]{rejectBody(&r)}, nil
}

func rejectBody(r *rejects.Reject) wire.RejectBody {
	b := wire.RejectBody{
		ID: r.ID, Stream: r.Stream, Device: r.Device, Door: r.Door, From: r.From, First: r.First, Last: r.Last, Times: r.Times,
		Time: orNull(r.Time), Code: string(r.Code), Message: r.Message, Format: r.Format, Options: r.Options,
		Header: strings.ToValidUTF8(r.Header, "\uFFFD"), Text: r.Text, Cut: r.Cut, Replayable: r.Replayable(),
	}
	if !utf8.ValidString(r.Text) {
		b.Text, b.Base64 = "", base64.StdEncoding.EncodeToString([]byte(r.Text))
	}
	return b
}

func (h *rejectsHandler) deleteReject(ctx context.Context, in *rejectPath) (*reply[wire.DeletedRejects], error) {
	r, err := h.registry.Get(ctx, tenantOf(ctx), in.ID)
	if varve.FailureOf(err) == varve.NotFound {
		return &reply[wire.DeletedRejects]{}, nil
	}
	if err == nil {
		err = h.registry.Delete(ctx, tenantOf(ctx), []rejects.Reject{r})
	}
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.DeletedRejects]{wire.DeletedRejects{Deleted: 1}}, nil
}

func (h *rejectsHandler) deleteRejects(ctx context.Context, in *rejectsQuery) (*reply[wire.DeletedRejects], error) {
	page, err := h.page(ctx, in.selection(), in.Paging)
	if err == nil {
		err = h.registry.Delete(ctx, tenantOf(ctx), page.Items)
	}
	if err != nil {
		return nil, h.problem(rejectParam(err))
	}
	return &reply[wire.DeletedRejects]{wire.DeletedRejects{Deleted: int64(len(page.Items)), Next: page.Next}}, nil
}

func (h *rejectsHandler) replayReject(ctx context.Context, in *rejectReplay) (*reply[wire.ReplayAnswer], error) {
	r, err := h.registry.Get(ctx, tenantOf(ctx), in.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	return h.replay(ctx, []rejects.Reject{r}, "", &in.Body)
}

func (h *rejectsHandler) replayRejects(ctx context.Context, in *rejectsReplay) (*reply[wire.ReplayAnswer], error) {
	page, err := h.page(ctx, in.Body.Select, Paging{Limit: in.Body.Limit, Cursor: in.Body.Cursor})
	if err != nil {
		return nil, h.problem(err)
	}
	return h.replay(ctx, page.Items, page.Next, &in.Body.ReplayOptions)
}

// maxProblems limits the problems in the answer to a replay.
const maxProblems = 100

// replay replays rejects, and answers with the sums of their verdicts.
func (h *rejectsHandler) replay(ctx context.Context, list []rejects.Reject, next string, options *wire.ReplayOptions) (*reply[wire.ReplayAnswer], error) {
	how, err := h.replayOf(options)
	if err != nil {
		return nil, h.problem(err)
	}
	session, err := h.ingester.Begin(grantOf(ctx))
	if err != nil {
		return nil, h.problem(err)
	}
	defer session.Close()
	results, err := session.Replay(ctx, list, how)
	body := sumOf(results)
	if err != nil {
		if n := body.Stored + body.Duplicates; n > 0 {
			err = fmt.Errorf("%d readings are stored, and some of their rejects remain: repeat the replay: %w", n, err)
		}
		return nil, h.problem(err)
	}
	body.Next = next
	return &reply[wire.ReplayAnswer]{body}, nil
}

// sumOf returns the answer to a replay, with the sums of its results and the first problems.
func sumOf(results []ingest.Replayed) (body wire.ReplayAnswer) {
	for i := range results {
		r := &results[i]
		body.Rejects++
		body.Stored, body.Duplicates, body.Rejected = body.Stored+r.Tally.Stored, body.Duplicates+r.Tally.Duplicates, body.Rejected+r.Tally.Rejected
		body.Valid += r.Valid
		if r.Skipped {
			body.Skipped++
		}
		if r.Done() {
			body.Deleted++
		}
		if r.Problem.Outcome != 0 && len(body.Problems) < maxProblems {
			body.Problems = append(body.Problems, wire.ReplayProblem{ID: r.ID, Code: string(r.Problem.Code), Message: r.Problem.Message})
		}
	}
	return body
}

func (h *rejectsHandler) replayOf(o *wire.ReplayOptions) (how *ingest.Replay, err error) {
	how = &ingest.Replay{Device: o.Device, DryRun: o.DryRun, Lines: h.lines}
	if o.Precision != "" {
		if how.Precision, err = wire.ParsePrecision(o.Precision); err != nil {
			return nil, varve.InvalidParam("body.precision", "%s", err)
		}
	}
	if o.Device != "" {
		if err := varve.ValidateDevice(o.Device); err != nil {
			return nil, varve.InvalidParam("body.device", "%s", err)
		}
	}
	switch o.Time {
	case "", "sent":
	case "arrival":
		how.ArrivalIsTime = true
	default:
		return nil, varve.InvalidParam("body.time", "%s is unknown: use sent or arrival", quote.Text(o.Time))
	}
	if o.Shift == "" {
		return how, nil
	}
	text, isNegative := strings.CutPrefix(strings.TrimPrefix(o.Shift, "+"), "-")
	if how.Shift, err = timefmt.ParseDuration(text); err != nil || how.Shift == timefmt.Forever {
		return nil, varve.InvalidParam("body.shift", "%s is not a duration: use one as in -2h or 1d", quote.Text(o.Shift))
	}
	if isNegative {
		how.Shift = -how.Shift
	}
	if how.ArrivalIsTime {
		return nil, varve.InvalidParam("body.shift", "excludes time=arrival: omit one of them")
	}
	return how, nil
}
