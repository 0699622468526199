package api

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

func (h *tablesHandler) addCalendar(o *operations) {
	op := func(id, method, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/v1/tables/calendar", Summary: summary, Description: description, Tags: []string{"tables"}}
	}
	huma.Register(o.api, op("table-calendar", http.MethodGet, "Forecast of the tables, month by month",
		"The tables that the rotator will create, retire and drop if readings continue to arrive as at present. With bytes, requests and cost, and the month in which the quota of the account will be reached."),
		h.getCalendar)
	huma.Register(o.api, op("simulate-tables", http.MethodPost, "Forecast of the tables under another policy",
		"As with GET, but under the policy of the body. It begins with the present tables, and changes nothing."), h.simulate)
}

// YearsAhead has the query parameters of a forecast. It is exported because simulation embeds it.
type YearsAhead struct {
	Years int    `query:"years" default:"5" minimum:"1" maximum:"30" doc:"years to forecast"`
	Rates string `query:"readings_per_day" doc:"the load of classes as CLASS=N,CLASS=N, instead of the measured one"`
}

// simulation is the request for a forecast under another policy.
type simulation struct {
	YearsAhead
	Body wire.PolicyBody
}

func (h *tablesHandler) getCalendar(ctx context.Context, in *YearsAhead) (*reply[wire.CalendarBody], error) {
	body, err := h.forecast(ctx, in, h.rotator.Policy(), h.account)
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
	account, note := simulatedAccount(h.account, &in.Body)
	body, err := h.forecast(ctx, &in.YearsAhead, p, account)
	if err != nil {
		return nil, h.problem(err)
	}
	if note != "" {
		body.Notes = append(body.Notes, note)
	}
	return &reply[wire.CalendarBody]{body}, nil
}

// simulatedAccount returns the limits of the account under another policy. If the policy is for DynamoDB
// and this server has another store, the note states why requests and cost are not forecast.
func simulatedAccount(a Account, b *wire.PolicyBody) (simulated Account, note string) {
	a.Rollups = b.Rollups
	switch {
	case b.Store == "dynamodb" && !a.Billed:
		a.TableQuota = b.TableQuota
		note = "requests and cost are not forecast, because the store of this server is not DynamoDB"
	case b.Store != "" && b.Store != "dynamodb":
		a = Account{Rollups: b.Rollups} // a store other than DynamoDB has no quota and no list prices
	case b.TableQuota > 0 && a.TableQuota > 0:
		a.TableQuota = b.TableQuota
	}
	return a, note
}

// firstOf returns the first error of joined errors, and any other error unchanged.
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
		Drop: b.Drop, ArchiveFirst: b.Archived, MonthsAhead: b.MonthsAhead, MaxDrops: b.MaxDrops,
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
func (h *tablesHandler) forecast(ctx context.Context, in *YearsAhead, p rotator.Policy, account Account) (wire.CalendarBody, error) {
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
	measured := calendar.DailyLoad(present, expireGrace(present, h.account), now, infos)
	daily := calendar.Reassign(measured, p.Retention)
	if err := assumeRates(daily, in.Rates, p.Retention); err != nil {
		return wire.CalendarBody{}, err
	}
	o := calendar.Options{
		Policy: p, Now: now, Until: now.AddDate(in.Years, 0, 0), Tables: slices.DeleteFunc(infos, isGone), Daily: daily,
		Quota: account.TableQuota, Others: others, ExpireGrace: expireGrace(p, account),
	}
	f, err := calendar.Simulate(ctx, o)
	if err != nil {
		return wire.CalendarBody{}, err
	}
	body := calendarBody(&o, &f, account)
	for _, class := range slices.Sorted(maps.Keys(measured)) {
		if _, ok := daily[class]; !ok {
			body.Notes = append(body.Notes, "class "+class+", which the policy lacks, counts as the default class")
		}
	}
	return body, nil
}

// assumeRates replaces the load of classes with the rates of the parameter readings_per_day.
func assumeRates(daily map[string]calendar.Load, rates string, p *retention.Policy) error {
	for rate := range strings.SplitSeq(rates, ",") {
		if rate == "" {
			continue
		}
		class, text, _ := strings.Cut(rate, "=")
		n, err := strconv.ParseUint(text, 10, 50)
		if err != nil {
			return varve.InvalidParam("query.readings_per_day", "%q is not a rate: write CLASS=N, as in default=5000", rate)
		}
		if _, ok := p.ClassOfPrefix(p.TablePrefix(class)); !ok {
			return varve.InvalidParam("query.readings_per_day", "class %q is unknown: use a class of the policy", class)
		}
		calendar.Assume(daily, class, float64(n))
	}
	return nil
}

// expireGrace returns the minimum time between the expiry of a reading and its deletion. It is 0 for an
// account without a quota, as with stores other than DynamoDB.
func expireGrace(p rotator.Policy, a Account) time.Duration {
	if a.TableQuota == 0 {
		return 0
	}
	return router.ExpireGraceOf(p.WithDefaults().Grace, a.Rollups)
}

// isGone reports whether another program deleted a table.
func isGone(in store.Info) bool { return in.Status == store.Gone }

func calendarBody(o *calendar.Options, f *calendar.Forecast, account Account) wire.CalendarBody {
	body := wire.CalendarBody{
		From: o.Now, Until: o.Until, Most: f.Most, Months: make([]wire.CalendarMonth, len(f.Months)),
		Load: []wire.CalendarLoad{}, Warnings: []string{},
		Notes: []string{"readings continue to arrive as in this month and the month before, none of them resent"},
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
		one := wire.CalendarLoad{Class: class, Readings: l.Readings, Bytes: l.Bytes}
		if l.Measured > 0 {
			one.Measured = timefmt.FormatDuration(l.Measured.Round(time.Minute))
		}
		body.Load = append(body.Load, one)
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
		body.Warnings = append(body.Warnings, text+": "+calendar.QuotaRemedy(&o.Policy))
	}
	return body
}
