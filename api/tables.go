package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

func (s *Server) routeTables(o *operations) {
	op := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{"tables"}}
	}
	huma.Register(o.api, op("list-tables", http.MethodGet, "/v1/tables", "The grid of tables",
		"Event range, arrival month, state, readings, bytes, and when each table will be dropped and why."), s.listTables)
	huma.Register(o.api, op("plan-tables", http.MethodGet, "/v1/tables/plan", "Plan of the rotator",
		"Changes nothing. With at, what it would do at another time, if the tables were then as they are now."), s.planTables)
	huma.Register(o.api, op("apply-tables", http.MethodPost, "/v1/tables/apply", "Run the rotator now",
		"Carries out the plan of now and returns it. 409 if a run is under way."), s.applyTables)
	huma.Register(o.api, op("restore-table", http.MethodPost, "/v1/tables/{name}/restore", "Restore a retired table",
		"Removes the mark for deletion and puts the table on hold, so that the rotator neither retires nor drops it. Expired readings stay excluded from queries."), s.restoreTable)
	huma.Register(o.api, op("hold-table", http.MethodPut, "/v1/tables/{name}/hold", "Keep a table from being dropped",
		"For as long as it is on hold, it is neither retired nor dropped."), s.holdTable)
	huma.Register(o.api, op("release-table", http.MethodDelete, "/v1/tables/{name}/hold", "Lift a table's hold", ""), s.releaseTable)
}

func (s *Server) listTables(ctx context.Context, _ *struct{}) (*reply[wire.TableList], error) {
	infos, err := s.opts.Rotator.Tables(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	policy := s.opts.Rotator.Policy()
	body := wire.TableList{Tables: make([]wire.TableInfo, len(infos))}
	for i := range infos {
		body.Tables[i] = tableInfo(&policy, &infos[i], s.opts.Now())
	}
	if bound, ok := policy.Bound(s.opts.Now(), rotator.Outage); ok {
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

// atTime is the query of a plan.
type atTime struct {
	At string `query:"at" doc:"RFC 3339, a date, or relative to now as in +30d; default: now"`
}

func (s *Server) planTables(ctx context.Context, in *atTime) (*reply[wire.PlanBody], error) {
	at, err := moment(url.Values{"at": {in.At}}, "at", wire.TimeFormat{}, s.opts.Now(), s.opts.Now())
	if err != nil {
		return nil, s.problem(err)
	}
	p, err := s.opts.Rotator.Plan(ctx, at)
	if err != nil {
		return nil, s.problem(err)
	}
	return &reply[wire.PlanBody]{planBody(&p)}, nil
}

func (s *Server) applyTables(ctx context.Context, _ *struct{}) (*reply[wire.PlanBody], error) {
	p, err := s.opts.Rotator.Run(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	return &reply[wire.PlanBody]{planBody(&p)}, nil
}

func planBody(p *rotator.Plan) wire.PlanBody {
	body := wire.PlanBody{At: p.Now, Actions: []wire.PlanAction{}, Kept: []wire.PlanKept{}, Tables: p.Tables, Ready: p.Ahead.Existing, Needed: p.Ahead.Wanted}
	for _, a := range p.Actions {
		action := wire.PlanAction{Action: a.Kind.String(), Table: a.Table.Name(), Reason: a.Reason, Readings: a.Readings, Bytes: a.Bytes}
		if a.Tier != 0 {
			action.Tier = a.Tier.String()
		}
		body.Actions = append(body.Actions, action)
	}
	for _, k := range p.Skipped {
		body.Kept = append(body.Kept, wire.PlanKept{Table: k.Table.Name(), Reason: k.Reason, Readings: k.Readings, Bytes: k.Bytes})
	}
	return body
}

// byName is the path of one table.
type byName struct {
	Name string `path:"name" doc:"the table's whole name"`
}

// table parses a table's name. A name of another deployment is treated as missing.
func (s *Server) table(name string) (grid.Table, error) {
	t, ok := grid.Parse(name)
	policy := s.opts.Rotator.Policy()
	if ok {
		_, ok = policy.Retention.ClassOfPrefix(t.Prefix)
	}
	if !ok {
		return t, varve.Errorf(varve.NotFound, "%q is not the name of a table of this deployment", name)
	}
	return t, nil
}

// RestoredByHand is the hold of a table that was restored.
const RestoredByHand = "restored by hand"

func (s *Server) restoreTable(ctx context.Context, in *byName) (*reply[wire.TableInfo], error) {
	return s.change(ctx, in.Name, func(t grid.Table) error {
		if err := s.mustBeRetired(ctx, t); err != nil {
			return err
		}
		// The hold first: a run of the rotator in between must not retire the
		// table again.
		if err := s.opts.Lifecycle.Hold(ctx, t, RestoredByHand); err != nil {
			return err
		}
		return s.opts.Lifecycle.Restore(ctx, t)
	})
}

// mustBeRetired refuses tables that are not retired.
func (s *Server) mustBeRetired(ctx context.Context, t grid.Table) error {
	infos, err := s.opts.Rotator.Tables(ctx)
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

// holding is the path and body of a hold.
type holding struct {
	Name string `path:"name" doc:"the table's whole name"`
	Body struct {
		Reason string `json:"reason" maxLength:"200" doc:"why the table must be kept; not empty"`
	}
}

func (s *Server) holdTable(ctx context.Context, in *holding) (*reply[wire.TableInfo], error) {
	if strings.TrimSpace(in.Body.Reason) == "" {
		const why = `reason is empty: state why the table must be kept, as in {"reason":"audit of 2026"}`
		return nil, huma.Error422UnprocessableEntity("body."+why, &huma.ErrorDetail{Location: "body.reason", Message: why, Value: in.Body.Reason})
	}
	return s.change(ctx, in.Name, func(t grid.Table) error { return s.opts.Lifecycle.Hold(ctx, t, in.Body.Reason) })
}

func (s *Server) releaseTable(ctx context.Context, in *byName) (*reply[wire.TableInfo], error) {
	return s.change(ctx, in.Name, func(t grid.Table) error { return s.opts.Lifecycle.Hold(ctx, t, "") })
}

// change changes a table and returns it as it is then.
func (s *Server) change(ctx context.Context, name string, do func(grid.Table) error) (*reply[wire.TableInfo], error) {
	t, err := s.table(name)
	if err == nil {
		err = do(t)
	}
	if err != nil {
		return nil, s.problem(err)
	}
	infos, err := s.opts.Rotator.Tables(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	policy := s.opts.Rotator.Policy()
	for i := range infos {
		if infos[i].Table == t {
			return &reply[wire.TableInfo]{tableInfo(&policy, &infos[i], s.opts.Now())}, nil
		}
	}
	return nil, s.problem(varve.Errorf(varve.NotFound, "table %s is gone", name))
}
