package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rotator"
)

// Influx configures the routes of InfluxDB's clients. The zero Influx accepts all databases.
type Influx struct {
	Disabled bool
	// Lines assigns the tags of line protocol to readings. If nil, the default mapping applies.
	Lines *wire.LineMapping
	// Databases are the names of databases and buckets that clients may write to. If empty, any
	// name is accepted.
	Databases []string
}

// influxHandler serves the routes that clients of InfluxDB 1, 2 and 3 use for writes. Readings go
// to the tenant of the API key.
type influxHandler struct {
	*responder
	Influx
	writes     writes.Lines
	rotator    *rotator.Rotator
	conditions *health.Conditions
	now        func() time.Time
	started    time.Time
	version    string
}

// influxWrite describes a route that writes line protocol. The field "database" has the name of the
// parameter that selects the database.
type influxWrite struct{ pattern, database, id, about string }

var influxWrites = []influxWrite{
	{"/write", "db", "write-influx-v1", "InfluxDB 1"},
	{"/api/v2/write", "bucket", "write-influx-v2", "InfluxDB 2"},
	{"/api/v3/write_lp", "db", "write-influx-v3", "InfluxDB 3"},
}

// influxPaths has the paths of InfluxDB's API. On these paths, errors have InfluxDB's form.
var influxPaths = []string{"/write", "/api/v2/write", "/api/v3/write_lp", "/query", "/ping", "/health", "/ready", "/api/v2/ready"}

func isInflux(path string) bool { return slices.Contains(influxPaths, path) }

func (h *influxHandler) addRoutes(o *operations) {
	if h.Disabled {
		return
	}
	for _, route := range influxWrites {
		o.raw(http.MethodPost, route.pattern, func(w http.ResponseWriter, r *http.Request) { h.writes.Write(w, r, route.database) }, &huma.Operation{
			OperationID: route.id, Summary: "Write line protocol as to " + route.about, Tags: []string{"line protocol"},
			Description: "Lines of InfluxDB's line protocol; gzip and zstd are understood. The measurement is the stream, and a tag is the device. " +
				"204 if no line was rejected. 400 with the rejected lines if some were; the others are stored. 503 if the client shall send all lines again. " +
				"The header " + writes.LateHeader + " has the number of stored late readings, if any.",
			Parameters: queryParams(route.database, "the database; any name, unless influx.databases lists names",
				"precision", "unit of times: ns, us, ms, s, m, h or auto; default ns, for InfluxDB 3 auto"),
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}},
			Responses: map[string]*huma.Response{
				"204":     {Description: "All lines are durable"},
				"default": {Description: "An error in the form of InfluxDB", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}},
			},
		})
	}
	for _, pattern := range []string{"GET /query", "POST /query"} {
		o.mux.HandleFunc(pattern, h.query)
	}
	h.addHealth(o)
}
