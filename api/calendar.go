package api

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// addCalendar adds the routes of the forecast.
func (h *tablesHandler) addCalendar(o *operations) {
	op := func(id, method, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/v1/tables/calendar", Summary: summary, Description: description, Tags: []string{"tables"}}
	}
	huma.Register(o.api, op("table-calendar", http.MethodGet, "Forecast of the tables, month by month",
		"The tables that the rotator will create, retire and drop if readings continue to arrive as at present. With bytes, requests and cost, and the month in which the quota of the account will be met."),
		h.getCalendar)
	huma.Register(o.api, op("simulate-tables", http.MethodPost, "Forecast of the tables under another policy",
		"As with GET, but under the policy of the body. It begins with the present tables, and changes nothing."), h.simulate)
}

// YearsAhead is the query of a forecast. It is exported because simulation embeds it.
type YearsAhead struct {
	Years int `query:"years" default:"5" minimum:"1" maximum:"30" doc:"years to forecast"`
}

// simulation is the request for a forecast under another policy.
type simulation struct {
	YearsAhead
	Body wire.PolicyBody
}

func (h *tablesHandler) getCalendar(ctx context.Context, in *YearsAhead) (*reply[wire.CalendarBody], error) {
	body, err := h.forecast(ctx, in.Years, h.rotator.Policy(), h.account)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.CalendarBody]{body}, nil
}

func (h *tablesHandler) simulate(ctx context.Context, in *simulation) (*reply[wire.CalendarBody], error) {
	present := h.rotator.Policy()
	p, err := policyFrom(&in.Body, present.Retention.Prefix)
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return nil, h.problem(inBody(firstOf(err)))
	}
	account := h.account
	account.Rollups = in.Body.Rollups
	if in.Body.TableQuota > 0 && account.TableQuota > 0 {
		account.TableQuota = in.Body.TableQuota
	}
	body, err := h.forecast(ctx, in.Years, p, account)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.CalendarBody]{body}, nil
}

// firstOf returns the first of several joined errors.
func firstOf(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		err = joined.Unwrap()[0]
	}
}

// policyFrom converts the body of a request to a policy. It does not validate the policy.
func policyFrom(b *wire.PolicyBody, prefix string) (p rotator.Policy, err error) {
	if b.Prefix != "" {
		prefix = b.Prefix
	}
	p = rotator.Policy{
		Grid: grid.Policy{Recent: b.RecentWeeks}, Retention: &retention.Policy{Prefix: prefix},
		Drop: b.Drop, MonthsAhead: b.MonthsAhead, MaxDrops: b.MaxDrops,
	}
	if b.Rollups {
		p.RecountGrace = rollup.RecountWindow
	}
	parse := func(param, text string, to *time.Duration) {
		d, wrong := timefmt.ParseDuration(text)
		if wrong != nil {
			err = errors.Join(err, varve.InvalidParam(param, "%s", wrong))
		}
		*to = d
	}
	parse("future", b.Future, &p.Grid.Future)
	parse("doubling", b.Doubling, &p.Grid.Doubling)
	parse("grace", b.Grace, &p.Grace)
	parse("seal", b.Seal, &p.Seal)
	for _, name := range slices.Sorted(maps.Keys(b.Classes)) {
		c := retention.Class{Name: name}
		parse("classes."+name, b.Classes[name], &c.Retention)
		p.Retention.Classes = append(p.Retention.Classes, c)
	}
	return p, err
}

// forecast simulates a policy from the present tables and the present load.
func (h *tablesHandler) forecast(ctx context.Context, years int, p rotator.Policy, account Account) (wire.CalendarBody, error) {
	infos, err := h.rotator.Tables(ctx)
	if err != nil {
		return wire.CalendarBody{}, err
	}
	others, err := h.otherTables(ctx, len(infos))
	if err != nil {
		return wire.CalendarBody{}, err
	}
	now := h.now().UTC()
	present := h.rotator.Policy()
	daily := calendar.Reassign(calendar.DailyLoad(present, expireGrace(account), now, infos), p.Retention)
	o := calendar.Options{
		Policy: p, Now: now, Until: now.AddDate(years, 0, 0), Tables: slices.DeleteFunc(infos, isGone), Daily: daily,
		Quota: account.TableQuota, Others: others, ExpireGrace: expireGrace(account),
	}
	f, err := calendar.Simulate(ctx, o)
	if err != nil {
		return wire.CalendarBody{}, err
	}
	return calendarBody(&o, &f, account), nil
}

// expireGrace returns the minimum time between the expiry of a reading and its deletion.
func expireGrace(a Account) time.Duration {
	if a.Rollups {
		return router.ExpireGrace
	}
	return 0
}

// isGone reports whether another program deleted a table.
func isGone(in store.Info) bool { return in.Status == store.Gone }

func calendarBody(o *calendar.Options, f *calendar.Forecast, account Account) wire.CalendarBody {
	body := wire.CalendarBody{
		From: o.Now, Until: o.Until, Most: f.Most, Months: make([]wire.CalendarMonth, len(f.Months)),
		Load: []wire.CalendarLoad{}, Warnings: []string{}, Notes: []string{
			"readings continue to arrive as in this month and the month before, none of them resent",
			"a class that the policy lacks counts as the default class",
		},
	}
	for i := range f.Months {
		m := &f.Months[i]
		one := wire.CalendarMonth{
			Month: m.Month.String(), Created: m.Created, Retired: m.Retired, Restored: m.Restored, Dropped: m.Dropped,
			Tables: m.Tables, Most: m.Most, Readings: int64(m.Stored.Readings), Bytes: int64(m.Stored.Bytes),
		}
		if account.Billed {
			c := calendar.ListPrices.CostOf(m, account.Rollups)
			requests, dollars := int64(c.Requests), math.Round(c.Dollars*100)/100
			one.Requests, one.Dollars = &requests, &dollars
		}
		body.Months[i] = one
	}
	for _, class := range slices.Sorted(maps.Keys(o.Daily)) {
		l := o.Daily[class]
		body.Load = append(body.Load, wire.CalendarLoad{Class: class, Readings: l.Readings, Bytes: l.Bytes})
	}
	if account.Billed {
		body.Notes = append(body.Notes,
			"a row is one write request unit; reads, provisioned capacity, backups and rows that TTL deletes are not counted",
			"prices are the list prices of us-east-1 on demand in November 2026")
	}
	if account.TableQuota > 0 {
		body.Quota = &account.TableQuota
	}
	if text := calendar.QuotaText(f, account.TableQuota); text != "" {
		met := f.QuotaMet.Format("2006-01")
		body.QuotaMet = &met
		body.Warnings = append(body.Warnings, text+": "+calendar.QuotaRemedy)
	}
	return body
}
