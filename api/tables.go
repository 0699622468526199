package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// tablesHandler serves the tables of the grid, and the plans of the rotator.
type tablesHandler struct {
	*responder
	rotator   *rotator.Rotator
	lifecycle store.Lifecycle
	archive   Archive
	account   Account
	now       func() time.Time
}

func (h *tablesHandler) addRoutes(o *operations) {
	op := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{"tables"}}
	}
	huma.Register(o.api, op("list-tables", http.MethodGet, "/v1/tables", "The grid of tables",
		"Event range, arrival month, state, readings, bytes, and when each table will be dropped and why."), h.listTables)
	huma.Register(o.api, op("plan-tables", http.MethodGet, "/v1/tables/plan", "Plan of the rotator",
		"Changes nothing. With at, what it would do at another time, if the tables were then as they are now."), h.planTables)
	huma.Register(o.api, op("apply-tables", http.MethodPost, "/v1/tables/apply", "Run the rotator now",
		"Carries out the current plan and returns it. 409 if a run is under way, or if plan is given and is not the digest of the current plan."), h.applyTables)
	huma.Register(o.api, op("restore-table", http.MethodPost, "/v1/tables/{name}/restore", "Restore a retired table",
		"Removes the mark for deletion and puts the table on hold, so that the rotator neither retires nor drops it. Expired readings stay excluded from queries."), h.restoreTable)
	huma.Register(o.api, op("hold-table", http.MethodPut, "/v1/tables/{name}/hold", "Put a table on hold, so that it is not retired and dropped",
		"For as long as it is on hold, it is neither retired nor dropped."), h.holdTable)
	h.addCalendar(o)
	huma.Register(o.api, op("release-table", http.MethodDelete, "/v1/tables/{name}/hold", "Release a hold", ""), h.releaseTable)
}

func (h *tablesHandler) listTables(ctx context.Context, _ *struct{}) (*reply[wire.TableList], error) {
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	policy := h.rotator.Policy()
	body := wire.TableList{Tables: make([]wire.TableInfo, len(infos))}
	for i := range infos {
		body.Tables[i] = tableInfo(&policy, &infos[i], h.now())
	}
	if err := h.archive.addAll(ctx, body.Tables); err != nil {
		return nil, h.problem(err)
	}
	if bound, ok := policy.Bound(h.now(), rotator.Outage); ok {
		body.Bound = &bound
	}
	return &reply[wire.TableList]{body}, nil
}

func tableInfo(p *rotator.Policy, in *store.Info, now time.Time) wire.TableInfo {
	w, schedule := in.Window(), p.ScheduleOf(in)
	class, _ := p.Retention.ClassOfPrefix(in.Prefix)
	return wire.TableInfo{
		Name: in.Name(), Class: class.Name, From: w.From, To: w.To, WriteMonth: in.Month.String(),
		State: string(p.StateOf(in, now)), Tier: in.Tier.String(), Readings: in.Readings, Bytes: in.Bytes, Hold: in.Hold,
		Seals: schedule.Seals, Retires: orNull(schedule.Retires), Drops: orNull(schedule.Drops), Why: schedule.Why,
	}
}

type atTime struct {
	At string `query:"at" doc:"RFC 3339, a date, or relative to now as in +30d; default: now"`
}

func (h *tablesHandler) planTables(ctx context.Context, in *atTime) (*reply[wire.PlanBody], error) {
	// Without a time, the result is the plan of the next run. It omits the drops of tables that are in use.
	at, err := moment(url.Values{"at": {in.At}}, "at", wire.TimeFormat{}, h.now(), time.Time{})
	if err != nil {
		return nil, h.problem(err)
	}
	if now := h.now(); !at.IsZero() && now.Sub(at) > 24*time.Hour {
		return nil, h.problem(varve.InvalidParam("query.at", "%s has passed: use a later time, as in +30d", at.Format(time.RFC3339)))
	}
	p, err := h.rotator.Plan(ctx, at)
	if err != nil {
		return nil, h.problem(err)
	}
	body := planBody(&p)
	if body.Warnings, err = h.quotaWarnings(ctx); err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.PlanBody]{body}, nil
}

// quotaWarnings returns a warning if the quota of tables will be reached within a year.
func (h *tablesHandler) quotaWarnings(ctx context.Context) ([]string, error) {
	warnings := []string{}
	if h.account.TableQuota == 0 {
		return warnings, nil
	}
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return nil, err
	}
	others, err := h.otherTables(ctx, len(infos))
	if err != nil {
		return nil, err
	}
	p := h.rotator.Policy()
	f, err := calendar.Simulate(ctx, calendar.Options{
		Policy: p, Now: h.now(), Until: h.now().Add(calendar.WarnAhead), Tables: infos,
		Quota: h.account.TableQuota, Others: others, EndAtQuota: true,
	})
	if err != nil {
		return nil, err
	}
	if text := calendar.QuotaText(&f, h.account.TableQuota); text != "" {
		warnings = append(warnings, text+": "+calendar.QuotaRemedy(&p))
	}
	return warnings, nil
}

// otherTables returns the number of tables of the account that do not belong to this deployment.
func (h *tablesHandler) otherTables(ctx context.Context, own int) (int, error) {
	if h.account.CountTables == nil {
		return 0, nil
	}
	all, err := h.account.CountTables(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the tables of the account: %w", err)
	}
	return max(all-own, 0), nil
}

type onePlan struct {
	Plan string `query:"plan" doc:"the digest of the plan that was read; another plan is refused with 409"`
}

// Resolve implements huma.Resolver. It refuses all bodies except {}, because a plan in a body would be
// ignored.
func (*onePlan) Resolve(ctx huma.Context) []error {
	body, err := io.ReadAll(io.LimitReader(ctx.BodyReader(), 64))
	if err != nil {
		return []error{err}
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && !bytes.Equal(body, []byte("{}")) {
		return []error{&huma.ErrorDetail{Location: "body", Message: "must be empty: send the digest of a plan as ?plan="}}
	}
	return nil
}

func (h *tablesHandler) applyTables(ctx context.Context, in *onePlan) (*reply[wire.PlanBody], error) {
	p, err := h.rotator.RunPlan(ctx, in.Plan)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.PlanBody]{planBody(&p)}, nil
}

func planBody(p *rotator.Plan) wire.PlanBody {
	body := wire.PlanBody{At: p.Now, Actions: []wire.PlanAction{}, Skipped: []wire.PlanSkipped{}, Tables: p.Tables, Ready: p.Ahead.Existing, Needed: p.Ahead.Wanted, Digest: p.Digest(), Warnings: []string{}}
	for _, a := range p.Actions {
		action := wire.PlanAction{Action: a.Kind.String(), Table: a.Table.Name(), Reason: a.Reason, Readings: a.Readings, Bytes: a.Bytes}
		if a.Tier != 0 {
			action.Tier = a.Tier.String()
		}
		body.Actions = append(body.Actions, action)
	}
	for _, k := range p.Skipped {
		body.Skipped = append(body.Skipped, wire.PlanSkipped{Table: k.Table.Name(), Reason: k.Reason, Readings: k.Readings, Bytes: k.Bytes})
	}
	return body
}

type byName struct {
	Name string `path:"name" doc:"the table's whole name"`
}

// table parses the name of a table. It fails with NotFound if the table is not one of this deployment.
func (h *tablesHandler) table(name string) (grid.Table, error) {
	t, ok := grid.Parse(name)
	policy := h.rotator.Policy()
	if ok {
		_, ok = policy.Retention.ClassOfPrefix(t.Prefix)
	}
	if !ok {
		return t, varve.Errorf(varve.NotFound, "table %q: not found: GET /v1/tables lists all tables", name)
	}
	return t, nil
}

// RestoredByHand is the reason for the hold on a restored table.
const RestoredByHand = "restored by hand"

func (h *tablesHandler) restoreTable(ctx context.Context, in *byName) (*reply[wire.TableInfo], error) {
	return h.change(ctx, in.Name, func(t grid.Table) error {
		if err := h.mustBeRetired(ctx, t); err != nil {
			return err
		}
		// The hold is set before the table is restored. Otherwise the rotator could retire the
		// table again in between.
		if err := h.lifecycle.Hold(ctx, t, RestoredByHand); err != nil {
			return err
		}
		return h.lifecycle.Restore(ctx, t)
	})
}

func (h *tablesHandler) mustBeRetired(ctx context.Context, t grid.Table) error {
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return err
	}
	for i := range infos {
		if infos[i].Table == t && infos[i].Retired.IsZero() {
			return varve.Errorf(varve.Conflict, "table %s is not retired: only retired tables can be restored", t.Name())
		}
	}
	return nil // the store reports a missing table
}

type holding struct {
	Name string `path:"name" doc:"the table's whole name"`
	Body struct {
		Reason string `json:"reason" maxLength:"200" doc:"why the table must be kept; not empty"`
	}
}

func (h *tablesHandler) holdTable(ctx context.Context, in *holding) (*reply[wire.TableInfo], error) {
	if err := checkReason(in.Body.Reason); err != nil {
		return nil, err
	}
	return h.change(ctx, in.Name, func(t grid.Table) error {
		err := h.lifecycle.Hold(ctx, t, in.Body.Reason)
		if errors.Is(err, store.ErrNoTable) {
			return varve.Errorf(varve.NotFound, "table %s does not exist: if it is archived and dropped, put its archive on hold with varve archive hold", t)
		}
		return err
	})
}

func checkReason(reason string) error {
	if strings.TrimSpace(reason) != "" {
		return nil
	}
	const why = `reason is empty: state why the table must be kept, as in {"reason":"audit of 2026"}`
	return huma.Error422UnprocessableEntity("body."+why, &huma.ErrorDetail{Location: "body.reason", Message: why, Value: reason})
}

func (h *tablesHandler) releaseTable(ctx context.Context, in *byName) (*reply[wire.TableInfo], error) {
	return h.change(ctx, in.Name, func(t grid.Table) error { return h.lifecycle.Hold(ctx, t, "") })
}

// change calls the function "do" with the named table, and returns the new state of the table.
func (h *tablesHandler) change(ctx context.Context, name string, do func(grid.Table) error) (*reply[wire.TableInfo], error) {
	t, err := h.table(name)
	if err == nil {
		err = do(t)
	}
	if err != nil {
		return nil, h.problem(err)
	}
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	policy := h.rotator.Policy()
	for i := range infos {
		if infos[i].Table == t {
			return &reply[wire.TableInfo]{tableInfo(&policy, &infos[i], h.now())}, nil
		}
	}
	return nil, h.problem(varve.Errorf(varve.NotFound, "table %s is gone", name))
}
