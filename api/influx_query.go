package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/apikeys"
)

// influxVersion is the version that the server reports to clients of InfluxDB 1. It begins with 1,
// because the server has the API of InfluxDB 1.
const influxVersion = "1.8.10-varve"

// ping reports that the server is running. Clients of InfluxDB 1 read the version in the headers of the
// answer.
func (h *influxHandler) ping(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", influxVersion)
	w.Header().Set("X-Influxdb-Build", "varve")
	if r.URL.Query().Get("verbose") == "true" {
		writes.WriteLines(w, http.StatusOK, map[string]string{"version": influxVersion})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// whyUnready returns the reason for which no reading can be stored, or "".
func (h *influxHandler) whyUnready() string {
	if !h.rotator.Health().Usable {
		return "the tables of this month are missing"
	}
	for _, c := range h.conditions.List() {
		if c.Name.Blocks() {
			return c.Name.About()
		}
	}
	return ""
}

// health reports whether readings can be stored. Only requests that may read in varve.DefaultTenant
// get the version.
func (h *influxHandler) health(w http.ResponseWriter, r *http.Request) {
	body := wire.InfluxHealth{Name: "varve", Message: "ready for queries and writes", Status: "pass", Checks: []string{}}
	if grantOf(r.Context()).Operates(apikeys.Read) {
		body.Version = h.version
	}
	status := http.StatusOK
	if why := h.whyUnready(); why != "" {
		body.Message, body.Status, status = why, "fail", http.StatusServiceUnavailable
	}
	writes.WriteLines(w, status, body)
}

func (h *influxHandler) ready(w http.ResponseWriter, r *http.Request) {
	if why := h.whyUnready(); why != "" {
		writes.FailLines(w, r, varve.Errorf(varve.Unavailable, "%s", why), http.StatusServiceUnavailable)
		return
	}
	up := h.now().Sub(h.started)
	writes.WriteLines(w, http.StatusOK, wire.InfluxReady{Status: "ready", Started: h.started.UTC(), Up: up.String()})
}

// statements lists the statements of InfluxQL that clients send before they write.
var statements = []struct {
	form    *regexp.Regexp
	name    string // name of the series in the answer; may be empty; without columns, the answer has no series
	columns []string
}{
	{regexp.MustCompile(`(?i)^CREATE (DATABASE|RETENTION POLICY)\b`), "", nil},
	{regexp.MustCompile(`(?i)^SHOW DATABASES$`), "databases", []string{"name"}},
	{regexp.MustCompile(`(?i)^SHOW RETENTION POLICIES\b`), "", []string{"name", "duration", "shardGroupDuration", "replicaN", "default"}},
	{regexp.MustCompile(`(?i)^SHOW MEASUREMENTS\b`), "measurements", []string{"name"}},
	{regexp.MustCompile(`(?i)^SHOW DIAGNOSTICS$`), "build", []string{"Version"}},
}

// query answers the statements with which clients of InfluxDB 1 begin. Other statements get an
// error as their result.
func (h *influxHandler) query(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", influxVersion)
	if r.Header.Get("Content-Encoding") != "" { // some clients set it for an empty body; a compressed body, which ParseForm cannot read, is ignored
		r.Body = http.NoBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		h.fail(w, r, varve.InvalidParam("q", "cannot be read: %s", err))
		return
	}
	text := r.Form.Get("q")
	if strings.TrimSpace(text) == "" {
		h.fail(w, r, varve.InvalidParam("q", "missing: send a statement"))
		return
	}
	var answer wire.InfluxResults
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			result := h.statement(part, r.Form.Get("db"))
			result.Statement = len(answer.Results)
			answer.Results = append(answer.Results, result)
		}
	}
	writes.WriteLines(w, http.StatusOK, answer)
}

var createdDatabase = regexp.MustCompile(`(?i)^CREATE DATABASE\s+"?([^"\s]+)"?`)

func (h *influxHandler) statement(text, database string) wire.InfluxResult {
	if m := createdDatabase.FindStringSubmatch(text); m != nil && len(h.Databases) > 0 && !slices.Contains(h.Databases, m[1]) {
		return wire.InfluxResult{Error: "the database is not one of influx.databases"}
	}
	for _, s := range statements {
		if !s.form.MatchString(text) {
			continue
		}
		if s.columns == nil {
			return wire.InfluxResult{}
		}
		series := wire.InfluxSeries{Name: s.name, Columns: s.columns, Values: [][]any{}}
		switch s.name {
		case "databases":
			for _, name := range h.databases(database) {
				series.Values = append(series.Values, []any{name})
			}
		case "":
			series.Values = append(series.Values, []any{"autogen", "0s", "168h0m0s", 1, true})
		case "build":
			series.Values = append(series.Values, []any{influxVersion})
		}
		return wire.InfluxResult{Series: []wire.InfluxSeries{series}}
	}
	return wire.InfluxResult{Error: "InfluxQL is not supported: read with GET /v1/streams/{stream}/devices/{device}/readings"}
}

// databases returns the configured names of databases. If none is configured, every name is accepted, and
// databases returns the name in the request, or "varve" if the request has none.
func (h *influxHandler) databases(asked string) []string {
	switch {
	case len(h.Databases) > 0:
		return h.Databases
	case asked != "":
		return []string{asked}
	default:
		return []string{"varve"}
	}
}
