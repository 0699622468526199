package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func (a queryCommands) latest() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "latest STREAM DEVICE…", Short: "Print the latest reading of each device",
		Args: takes(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			which, err := varve.ParseBy(by)
			if err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Latest(cmd.Context(), args[0], which, args[1:]...)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(l client.Latest) bool { return l.Reading != nil }) {
				if err := a.needStream(cmd, c, args[0]); err != nil {
					return err
				}
			}
			return a.showLatest(list)
		},
	}
	cmd.Flags().StringVar(&by, "by", "event", "event: the last by event time; arrival: the last to arrive")
	a.words(cmd, "by", "event", "arrival")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

// latestOf is the latest reading of a device, if it has one.
type latestOf struct {
	Device  string                     `json:"device"`
	Time    string                     `json:"time,omitempty"`
	ID      string                     `json:"id,omitempty"`
	Arrived string                     `json:"arrived,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
	text    string                     // the fields, for people
}

func newLatestOf(l *client.Latest) latestOf {
	one := latestOf{Device: l.Device, text: "no reading"}
	r := l.Reading
	if r == nil {
		return one
	}
	one.Time, one.Arrived = string(wire.AppendTime(nil, r.Time)), string(wire.AppendTime(nil, r.Arrived))
	one.ID, one.text = r.ID.String(), fieldsText(r.Fields)
	one.Fields = map[string]json.RawMessage{}
	for _, f := range r.Fields {
		one.Fields[f.Name] = rawValue(f.Value)
	}
	return one
}

func (a queryCommands) showLatest(list []client.Latest) error {
	values := make([]latestOf, len(list))
	for i := range list {
		values[i] = newLatestOf(&list[i])
	}
	switch a.output {
	case "csv":
		return a.show(latestColumns(list, values), nil)
	case "ndjson":
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	g := listing{header: []string{"device", "time", "arrived", "fields"}, optional: []string{"arrived"}}
	for _, v := range values {
		g.add(v.Device, v.Time, v.Arrived, v.text)
	}
	return a.show(&g, map[string]any{"latest": bodies(list)})
}

// latestColumns returns a listing with a column for each field of any device.
func latestColumns(list []client.Latest, values []latestOf) *listing {
	names := map[string]bool{}
	for _, v := range values {
		for name := range v.Fields {
			names[name] = true
		}
	}
	fields := slices.Sorted(maps.Keys(names))
	g := &listing{header: append([]string{"device", "time", "arrived", "id"}, fields...)}
	for i, v := range values {
		row := []string{v.Device, v.Time, v.Arrived, v.ID}
		for _, name := range fields {
			row = append(row, cellText(list[i].Reading, name))
		}
		g.add(row...)
	}
	return g
}

// cellText returns the text of a field for a cell: a string has no quotes.
func cellText(r *varve.Reading, name string) string {
	if r == nil {
		return ""
	}
	v := r.Field(name)
	switch v.Kind() {
	case 0:
		return ""
	case varve.KindString:
		return v.Text()
	default:
		return string(rawValue(v))
	}
}

// latestBody is the latest reading of a device as HTTP answers it: null if it has none.
type latestBody struct {
	Device  string       `json:"device"`
	Reading *readingBody `json:"reading"`
}

type readingBody struct {
	Time    string                     `json:"time"`
	ID      string                     `json:"id"`
	Arrived string                     `json:"arrived"`
	Fields  map[string]json.RawMessage `json:"fields"`
}

func bodies(list []client.Latest) []latestBody {
	all := make([]latestBody, len(list))
	for i := range list {
		one := newLatestOf(&list[i])
		if all[i].Device = one.Device; list[i].Reading != nil {
			all[i].Reading = &readingBody{one.Time, one.ID, one.Arrived, one.Fields}
		}
	}
	return all
}
