package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

type aggregateParams struct {
	Stream     string   `json:"stream" jsonschema:"the stream"`
	Devices    []string `json:"devices,omitempty" jsonschema:"the devices; default: all registered devices"`
	Attributes []string `json:"attributes,omitempty" jsonschema:"without devices: only devices with all these registered attributes, each as name:value, as in site:north"`
	Step       string   `json:"step" jsonschema:"length of a bucket: a duration as in 5m or 1h, or 1d, 1w, 1mo, 1y"`
	Functions  []string `json:"functions,omitempty" jsonschema:"default: mean, min, max and count"`
	Fields     []string `json:"fields,omitempty" jsonschema:"only these fields; default: all"`
	window
	Timezone string `json:"timezone,omitempty" jsonschema:"time zone of the buckets, as in Europe/Berlin; default: UTC"`
	Fill     string `json:"fill,omitempty" jsonschema:"buckets without readings: none (default), null, previous or linear"`
	Source   string `json:"source,omitempty" jsonschema:"readings (default), or rollups: faster, whole hours, also of expired readings; without count and percentiles"`
	Merge    bool   `json:"merge,omitempty" jsonschema:"if true, a bucket combines all devices"`
	Where    string `json:"where,omitempty" jsonschema:"only readings whose fields match, as in temperature>30"`
	Archive  string `json:"archive,omitempty" jsonschema:"true: also readings in archives, and expired ones; only: only archives; false: neither; default: the setting of the stream"`
	Top      int    `json:"top,omitempty" jsonschema:"number of devices to return, the ones with the highest values of top_by"`
	TopBy    string `json:"top_by,omitempty" jsonschema:"the function that ranks devices; required with top"`
	TopField string `json:"top_field,omitempty" jsonschema:"the field that ranks devices; default: the only one of fields"`
	Limit    int    `json:"limit,omitempty" jsonschema:"maximum number of buckets: default 200, at most 1000"`
}

type aggregateAnswer struct {
	Buckets []wire.AggregateBody `json:"buckets" jsonschema:"by device, then in order of time"`
	Source  string               `json:"source" jsonschema:"readings or rollups"`
	Notes   []wire.Note          `json:"notes,omitempty" jsonschema:"names that do not exist, and omitted buckets"`
	Note    string               `json:"note,omitempty"`
	missingTables
}

func addAggregate(s *Server) error {
	return add(s, tool{"aggregate", "Statistics by step", "Returns functions of the readings of devices in buckets of any length, such as the hourly mean. " +
		"They are exact. Functions: " + aggregate.FunctionNames + "."}, s.aggregate)
}

func (s *Server) aggregate(ctx context.Context, p aggregateParams) (answer aggregateAnswer, err error) {
	q := client.AggregateQuery{
		Stream: p.Stream, Devices: p.Devices, Attributes: p.Attributes, Step: p.Step, Functions: p.Functions, Fields: p.Fields, From: p.From, To: p.To, During: p.During,
		Timezone: p.Timezone, Fill: p.Fill, Source: p.Source, Merge: p.Merge, Where: p.Where, Archive: p.Archive, Top: p.Top, TopBy: p.TopBy, TopField: p.TopField,
	}
	if len(q.Functions) == 0 {
		if q.Functions = []string{"mean", "min", "max", "count"}; q.Source == "rollups" {
			q.Functions[3] = "numbers"
		}
	}
	if q.Limit, err = limitOf(p.Limit, 200, 1000); err != nil {
		return answer, err
	}
	body, err := s.client.Aggregate(ctx, q)
	if err != nil {
		return answer, err
	}
	var cut bool
	if answer.Buckets, cut, err = fitting(body.Buckets); err != nil {
		return answer, err
	}
	if answer.Buckets == nil {
		answer.Buckets = []wire.AggregateBody{}
	}
	answer.Source, answer.Notes = body.Source, body.Notes
	if len(body.Coverage) > 0 {
		var cover query.Coverage
		if err := json.Unmarshal(body.Coverage, &cover); err != nil {
			return answer, fmt.Errorf("the answer's coverage: %w", err)
		}
		answer.missingTables = missingOf(&cover)
	}
	if cut || len(body.Buckets) == q.Limit {
		answer.Note = "Buckets may be missing at the end: use a shorter window, a longer step, or fewer devices, fields or functions."
	}
	return answer, nil
}
