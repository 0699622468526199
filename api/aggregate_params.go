package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

var aggregateParams = []string{"step", "functions", "fill", "from", "to", "during", "fields", "source", "where", "limit", "as_of", "archive", "consistent", "damaged", "format", "precision", "timezone"}

var aggregatesParams = append([]string{"devices", "device", "status", "device_type", "attribute", "group", "top", "top_by", "top_field"}, aggregateParams...)

type aggregateQuery struct {
	aggregate.Query
	format wire.Format
	limit  int // maximum number of buckets; 0 means all
	zone   *time.Location
}

// aggregateOf parses the parameters that aggregates of one device and of several devices share.
func aggregateOf(r *http.Request, asked url.Values, now time.Time) (q aggregateQuery, err error) {
	q.Tenant, q.Stream = tenantOf(r.Context()), r.PathValue("stream")
	if err := varve.ValidateName("stream", q.Stream); err != nil {
		return q, varve.InvalidParam("path.stream", "%s", err)
	}
	f, err := timeFormat(asked)
	if err != nil {
		return q, err
	}
	if q.zone = f.Location; q.zone == nil {
		q.zone = time.UTC
	}
	if q.Window, err = localWindowOf(asked, now, q.zone); err != nil {
		return q, err
	}
	if q.Step, err = aggregate.ParseStep(asked.Get("step"), q.zone); err != nil {
		return q, varve.InvalidParam("query.step", "%s", err)
	}
	if q.Functions, err = aggregate.ParseFunctions(list(asked, "functions")); err != nil {
		return q, varve.InvalidParam("query.functions", "%s", err)
	}
	if q.Fill, err = aggregate.ParseFill(asked.Get("fill")); err != nil {
		return q, varve.InvalidParam("query.fill", "%s", err)
	}
	if q.Source, err = aggregate.ParseSource(asked.Get("source")); err != nil {
		return q, varve.InvalidParam("query.source", "%s", err)
	}
	if q.limit, err = positive(asked, "limit", maxLimit); err != nil {
		return q, err
	}
	if q.Where, err = filterOf(asked); err != nil {
		return q, err
	}
	if q.AsOf, err = asOfOf(asked, now); err != nil {
		return q, err
	}
	q.Fields = list(asked, "fields")
	if q.Consistent, err = boolean(asked, "consistent"); err != nil {
		return q, err
	}
	if q.SkipDamaged, err = skipDamaged(asked); err != nil {
		return q, err
	}
	if q.format, err = format(r, asked); q.format == wire.ColumnJSON || q.format == wire.Arrow {
		if asked.Get("format") != "" {
			return q, varve.InvalidParam("query.format", "aggregates are text, in rows: use json, ndjson or csv")
		}
		q.format = wire.JSON
	}
	return q, err
}

// localWindowOf parses the window of a query. The parameter "during" is a year, month, day, hour or
// minute in the given zone.
func localWindowOf(asked url.Values, now time.Time, zone *time.Location) (varve.Window, error) {
	w, err := windowOf(asked, now)
	if err != nil || asked.Get("during") == "" || zone == time.UTC {
		return w, err
	}
	w = varve.Window{From: timefmt.FirstInstant(w.From, zone), To: timefmt.FirstInstant(w.To, zone)}
	if first := varve.AllTime().From; w.From.Before(first) {
		w.From = first
	}
	return w, nil
}

// addRanking parses the parameter "group", and the parameters that rank devices.
func (q *aggregateQuery) addRanking(asked url.Values) (err error) {
	switch text := asked.Get("group"); text {
	case "", "device":
	case "none":
		q.Merge = true
	default:
		return varve.InvalidParam("query.group", "%s is unknown: use device or none", quote.Text(text))
	}
	if !asked.Has("top") {
		for _, name := range []string{"top_by", "top_field"} {
			if asked.Has(name) {
				return varve.InvalidParam("query."+name, "requires top: add top=10, or omit %s", name)
			}
		}
		return nil
	}
	t := &q.Top
	if t.Devices, err = positive(asked, "top", aggregate.MaxTop); err != nil {
		return err
	}
	if strings.TrimSpace(asked.Get("top_by")) == "" {
		return varve.InvalidParam("query.top_by", "missing: use %s", aggregate.FunctionNames)
	}
	if t.Function, err = aggregate.ParseFunction(strings.TrimSpace(asked.Get("top_by"))); err != nil {
		return varve.InvalidParam("query.top_by", "%s", err)
	}
	if t.Field = asked.Get("top_field"); t.Field == "" && len(q.Fields) == 1 {
		t.Field = q.Fields[0]
	}
	return nil
}
