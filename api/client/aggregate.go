package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/varvedb/varve/api/wire"
)

// AggregateQuery selects an aggregate. From and To are as in a Query. During is a year, month, day, hour
// or minute in Timezone.
type AggregateQuery struct {
	Stream           string
	Device           string // if empty, the next four fields select devices
	Devices          []string
	Status           string   // if no devices are named: only devices of this status
	DeviceType       string   // if no devices are named: only devices of this type
	Attributes       []string // if no devices are named: only devices with all of them, as in site:north
	Step             string   // a duration as in 5m, or 1d, 1w, 1mo, 1y
	Functions        []string
	Fields           []string // if empty, all fields
	Where            string   // if set, the filter that readings must match; not for roll-ups
	From, To, During string
	Timezone         string // time zone of the buckets, as in Europe/Berlin; "" means UTC
	Fill             string // none (also ""), null, previous or linear
	Source           string // readings (also ""), or rollups
	Merge            bool   // if true, each bucket combines all devices
	Limit            int    // maximum number of buckets; 0 means all
	Top              int    // number of devices to return, those with the highest values; 0 means all
	TopBy, TopField  string // the function and the field that rank devices
	Consistent       bool
	AsOf             string // only readings that had arrived by this time, as in a Query
	Archive          string // selects archived tables, as in a Query
	SkipDamaged      bool   // if true, omits damaged rows and lists them in the coverage
}

func (q *AggregateQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"step": q.Step, "functions": strings.Join(q.Functions, ","), "fields": strings.Join(q.Fields, ","), "where": q.Where, "from": q.From, "to": q.To, "during": q.During,
		"timezone": q.Timezone, "fill": q.Fill, "source": q.Source, "status": q.Status, "device_type": q.DeviceType,
		"top_by": q.TopBy, "top_field": q.TopField, "as_of": q.AsOf, "archive": q.Archive,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	setLists(v, map[string][]string{"device": q.Devices, "attribute": q.Attributes})
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Top > 0 {
		v.Set("top", strconv.Itoa(q.Top))
	}
	if q.Merge {
		v.Set("group", "none")
	}
	if q.Consistent {
		v.Set("consistent", "true")
	}
	if q.SkipDamaged {
		v.Set("damaged", "skip")
	}
	return v
}

func (q *AggregateQuery) path() string {
	if q.Device != "" {
		return seriesPath(q.Stream, q.Device, "aggregate")
	}
	return "/v1/streams/" + segment(q.Stream) + "/aggregate"
}

// Aggregate returns an aggregate of one or more devices. Each value is a JSON number with all its
// digits, or null.
func (c ReadingCalls) Aggregate(ctx context.Context, q AggregateQuery) (wire.AggregatesBody, error) {
	return getJSON[wire.AggregatesBody](ctx, c.connection, request{method: http.MethodGet, path: q.path(), query: q.values()})
}

// RawAggregate returns the answer to a query in the given format, as the server writes it. The caller
// must close the body of the answer.
func (c ReadingCalls) RawAggregate(ctx context.Context, q AggregateQuery, f wire.Format) (*http.Response, error) {
	return c.do(ctx, request{
		method: http.MethodGet, path: q.path(), query: q.values(),
		header: http.Header{"Accept": {strings.TrimSuffix(f.MediaType(), "; charset=utf-8")}},
	})
}
