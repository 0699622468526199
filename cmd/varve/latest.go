package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

func (a queryCommands) latest() *cobra.Command {
	var q client.LatestQuery
	var by string
	var limit int
	cmd := &cobra.Command{
		Use: "latest STREAM [DEVICE…]", Short: "Print the latest reading of each device, or of a stream",
		Long: "Print the latest reading of each device.\n" +
			"Without a device, all registered devices with a live reading in the stream are included.",
		Example: "  varve latest weather sensor_01 sensor_02\n" +
			"  varve latest weather --fields temperature -o csv",
		Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Stream, q.Devices = args[0], args[1:]
			if q.By, err = query.ParseBy(by); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			if len(q.Devices) > 0 && (q.Status+q.DeviceType != "" || len(q.Attributes) > 0) {
				return usageError{errors.New("--status, --device-type and --attribute select devices: omit them, or DEVICE")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, more, err := a.latestOf(cmd, c, q, limit)
			if err != nil {
				return err
			}
			var cover query.Coverage
			for i := range list {
				cover.AsOf = cover.AsOf.Merge(list[i].Coverage.AsOf)
				cover.AddMissing(&list[i].Coverage)
			}
			a.sayMissingTables(cover.Missing, cover.MoreMissing)
			if a.sayAsOf(&cover); cover.AsOf == nil {
				a.sayAsOfGiven(q.AsOf)
			}
			return errors.Join(a.showLatest(list), a.sayCut(more))
		},
	}
	f := cmd.Flags()
	f.StringVar(&by, "by", "event", "event: the last by event time; arrival: the last to arrive")
	f.StringSliceVar(&q.Fields, "fields", nil, "only these `fields`, separated by commas")
	asOfFlag(cmd, &q.AsOf)
	filterFlags(cmd, &q.Status, &q.DeviceType, &q.Attributes)
	limitFlag(cmd, &limit, "devices")
	a.words(cmd, "by", "event", "arrival")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

// latestOf returns the latest readings of the named devices, or of all devices of a stream up to a
// limit. It reports whether more exist.
func (a queryCommands) latestOf(cmd *cobra.Command, c *client.Client, q client.LatestQuery, limit int) (list []client.Latest, more bool, err error) {
	notes := []wire.Note{}
	defer func() { a.sayNotes(notes) }()
	if len(q.Devices) == 0 {
		return gather(limit, func(l client.List) ([]client.Latest, string, error) {
			q.List = l
			page, err := c.LatestPage(cmd.Context(), q)
			notes = commonNotes(notes, page.Notes, l.Cursor == "")
			return page.Latest, page.Next, err
		})
	}
	if limit > 0 && len(q.Devices) > limit {
		q.Devices, more = q.Devices[:limit], true
	}
	page, err := c.LatestPage(cmd.Context(), q)
	notes = page.Notes
	return page.Latest, more, err
}

// commonNotes returns the notes that all pages have. A field that is missing on only some pages exists,
// so it gets no note.
func commonNotes(before, page []wire.Note, first bool) []wire.Note {
	if first {
		return page
	}
	return slices.DeleteFunc(before, func(n wire.Note) bool { return !slices.Contains(page, n) })
}

func (a *app) sayNotes(notes []wire.Note) {
	for _, n := range notes {
		fmt.Fprintln(a.err, "Note: "+commandRemedies.Replace(n.Message))
	}
}

// latestOf is a device and its latest reading, if the device has one.
type latestOf struct {
	Device  string                     `json:"device"`
	Time    string                     `json:"time,omitempty"`
	ID      string                     `json:"id,omitempty"`
	Version uint32                     `json:"version,omitempty"`
	Arrived string                     `json:"arrived,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
	text    string                     // the fields as text for the table
}

func newLatestOf(l *client.Latest) latestOf {
	one := latestOf{Device: l.Device, text: "no reading"}
	r := l.Reading
	if r == nil {
		if x := l.Coverage.Expiry; x != nil {
			one.text = "no live reading; " + x.Rule
		}
		return one
	}
	one.Time, one.Arrived = string(wire.AppendTime(nil, r.Time)), string(wire.AppendTime(nil, r.Arrived))
	one.ID, one.Version, one.text = r.ID.String(), r.ID.Version(), fieldsText(r.Fields)
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
		return a.writeLatestCSV(list, values)
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
	g := listing{header: []string{"device", "time", "arrived", "fields"}, optional: []string{"arrived"}, empty: noLatest, explain: true}
	for _, v := range values {
		g.add(v.Device, v.Time, v.Arrived, v.text)
	}
	return a.show(&g, map[string]any{"latest": bodies(list)})
}

const noLatest = "No device has a live reading in this stream."

// writeLatestCSV writes CSV with a column for each field of any device.
func (a queryCommands) writeLatestCSV(list []client.Latest, values []latestOf) error {
	if len(list) == 0 {
		fmt.Fprintln(a.err, noLatest)
	}
	names := map[string]bool{}
	for _, v := range values {
		for name := range v.Fields {
			names[name] = true
		}
	}
	fields := slices.Sorted(maps.Keys(names))
	header := []string{"device", "time", "arrived", "id"}
	for _, name := range fields {
		header = append(header, wire.ColumnName(name))
	}
	rows := make([][]string, len(values))
	for i, v := range values {
		rows[i] = []string{v.Device, v.Time, v.Arrived, v.ID}
		for _, name := range fields {
			rows[i] = append(rows[i], cellText(list[i].Reading, name))
		}
	}
	return writeCSV(a.out, header, rows)
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

// latestBody is the latest reading of a device in an answer of the API. Reading is nil if the device has
// no live reading.
type latestBody struct {
	Device  string       `json:"device"`
	Reading *readingBody `json:"reading"`
}

type readingBody struct {
	Time    string                     `json:"time"`
	ID      string                     `json:"id"`
	Version uint32                     `json:"version,omitempty"`
	Arrived string                     `json:"arrived"`
	Fields  map[string]json.RawMessage `json:"fields"`
}

func bodies(list []client.Latest) []latestBody {
	all := make([]latestBody, len(list))
	for i := range list {
		one := newLatestOf(&list[i])
		if all[i].Device = one.Device; list[i].Reading != nil {
			all[i].Reading = &readingBody{one.Time, one.ID, one.Version, one.Arrived, one.Fields}
		}
	}
	return all
}
