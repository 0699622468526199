package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// The default and the maximum number of readings in an answer.
const (
	fewReadings  = 100
	mostReadings = 1000
)

type queryParams struct {
	Stream string `json:"stream" jsonschema:"the stream, such as weather"`
	Device string `json:"device" jsonschema:"the device"`
	window
	Order   string   `json:"order,omitempty" jsonschema:"asc for the oldest first (default), or desc for the newest first"`
	Limit   int      `json:"limit,omitempty" jsonschema:"maximum number of readings: default 100, at most 1000"`
	Fields  []string `json:"fields,omitempty" jsonschema:"only these fields; default: all"`
	Where   string   `json:"where,omitempty" jsonschema:"only readings whose fields match, as in temperature>30 and level=error"`
	Archive string   `json:"archive,omitempty" jsonschema:"true: also readings in archives, and expired ones; only: only archives; false: neither; default: the setting of the stream"`
	Cursor  string   `json:"cursor,omitempty" jsonschema:"the value of next in an earlier answer; continues after it"`
}

func (p *queryParams) query() (q client.Query, err error) {
	q = client.Query{
		Stream: p.Stream, Device: p.Device, From: p.From, To: p.To, During: p.During, Fields: p.Fields, Where: p.Where, Archive: p.Archive, Cursor: p.Cursor,
	}
	if q.Limit, err = limitOf(p.Limit, fewReadings, mostReadings); err != nil {
		return q, err
	}
	q.Order, err = query.ParseOrder(p.Order)
	return q, err
}

type reading struct {
	Time    string                     `json:"time" jsonschema:"event time"`
	ID      string                     `json:"id"`
	Version uint32                     `json:"version,omitempty" jsonschema:"the version of a correction; absent if the reading is the original"`
	Arrived string                     `json:"arrived" jsonschema:"when Varve received it"`
	Fields  map[string]json.RawMessage `json:"fields" jsonschema:"values by field; numbers have all digits"`
}

func newReading(r *varve.Reading) reading {
	one := reading{
		Time: string(wire.AppendTime(nil, r.Time)), ID: r.ID.String(), Version: r.ID.Version(), Arrived: string(wire.AppendTime(nil, r.Arrived)),
		Fields: map[string]json.RawMessage{},
	}
	for _, f := range r.Fields {
		one.Fields[f.Name] = wire.AppendValue(nil, f.Value)
	}
	return one
}

type queryAnswer struct {
	Readings []reading     `json:"readings"`
	Count    int           `json:"count" jsonschema:"the number of readings in this answer"`
	Next     string        `json:"next,omitempty" jsonschema:"the cursor of the following readings; absent at the end"`
	Expired  *query.Expiry `json:"expired,omitempty" jsonschema:"the part of the window whose readings have expired"`
	Archived []string      `json:"archived,omitempty" jsonschema:"the tables whose archives were read; only for keys of the tenant default"`
	Notes    []wire.Note   `json:"notes,omitempty" jsonschema:"names that do not exist"`
	Note     string        `json:"note,omitempty"`
	missingTables
}

// missingTables are the tables whose readings an answer lacks.
type missingTables struct {
	Missing     []string `json:"missing,omitempty" jsonschema:"the tables that were deleted: the answer lacks their readings; only for keys of the tenant default"`
	MoreMissing int      `json:"more_missing,omitempty" jsonschema:"the number of such tables without a name"`
}

func missingOf(c *query.Coverage) missingTables { return missingTables{c.Missing, c.MoreMissing} }

func addReadings(s *Server) error {
	return errors.Join(
		add(s, tool{"query", "Readings of a device", "Returns the readings of one device in a stream and a window, in order of event time. " +
			"The answer has at most 1000 readings; next continues. For statistics or long windows, call aggregate."}, s.query),
		add(s, tool{"latest", "Latest readings", "Returns the latest reading of each named device, or of all devices of a stream, by event time or by arrival. " +
			"A device without a live reading has none."}, s.latest),
		add(s, tool{"explain", "Cost of a query", "Returns the tables that a query would read, and the requests and read units that it would cost. " +
			"It reads no readings. It has the parameters of the tool query."}, s.explain))
}

func (s *Server) query(ctx context.Context, p queryParams) (answer queryAnswer, err error) {
	q, err := p.query()
	if err != nil {
		return answer, err
	}
	if answer, err = s.readings(ctx, q); err != nil {
		return answer, err
	}
	shown, cut, err := fitting(answer.Readings)
	if err != nil || !cut {
		return answer, err
	}
	if q.Limit = len(shown); q.Limit == 0 {
		return answer, errors.New("the first reading is larger than an answer: select fields")
	}
	return s.readings(ctx, q) // reads the shorter page, whose cursor follows the last shown reading
}

func (s *Server) readings(ctx context.Context, q client.Query) (answer queryAnswer, err error) {
	answer.Readings = []reading{}
	var rest client.Answer
	for r, err := range s.client.Readings(ctx, q, &rest) {
		if err != nil {
			return answer, err
		}
		answer.Readings = append(answer.Readings, newReading(r))
	}
	answer.Count, answer.Next, answer.Expired, answer.Notes = len(answer.Readings), rest.Next, rest.Coverage.Expiry, rest.Notes
	answer.Archived, answer.missingTables = rest.Coverage.Archived, missingOf(&rest.Coverage)
	if answer.Next != "" {
		answer.Note = more
	}
	return answer, nil
}

func (s *Server) explain(ctx context.Context, p queryParams) (wire.Explained, error) {
	q, err := p.query()
	if err != nil {
		return wire.Explained{}, err
	}
	if p.Limit == 0 {
		q.Limit = 0
	}
	return s.client.Explain(ctx, q)
}

type latestParams struct {
	Stream     string   `json:"stream" jsonschema:"the stream"`
	Devices    []string `json:"devices,omitempty" jsonschema:"the devices; default: all devices with a live reading in the stream"`
	Attributes []string `json:"attributes,omitempty" jsonschema:"without devices: only devices with all these registered attributes, each as name:value"`
	By         string   `json:"by,omitempty" jsonschema:"event for the last by event time (default), or arrival for the last to arrive"`
	Fields     []string `json:"fields,omitempty" jsonschema:"only these fields; default: all"`
	Limit      int      `json:"limit,omitempty" jsonschema:"without devices: maximum number of devices: default 50, at most 200"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"only without devices: the value of next in an earlier answer; continues after it"`
}

type latestOf struct {
	Device  string   `json:"device"`
	Reading *reading `json:"reading" jsonschema:"null if the device has no live reading"`
}

type latestAnswer struct {
	Latest []latestOf  `json:"latest"`
	Next   string      `json:"next,omitempty" jsonschema:"the cursor of the following devices; absent at the end"`
	Notes  []wire.Note `json:"notes,omitempty" jsonschema:"names that do not exist"`
	Note   string      `json:"note,omitempty"`
	missingTables
}

// mostDevices is the largest number of devices in a call or an answer.
const mostDevices = 200

func (s *Server) latest(ctx context.Context, p latestParams) (answer latestAnswer, err error) {
	answer.Latest = []latestOf{}
	q := client.LatestQuery{Stream: p.Stream, Devices: p.Devices, Attributes: p.Attributes, Fields: p.Fields}
	if q.By, err = query.ParseBy(p.By); err != nil {
		return answer, err
	}
	if len(p.Devices) == 0 {
		if q.Limit, err = limitOf(p.Limit, 50, mostDevices); err != nil {
			return answer, err
		}
		q.Cursor = p.Cursor
	} else if len(p.Devices) > mostDevices {
		return answer, varve.InvalidParam("devices", "%d are too many: name at most %d", len(p.Devices), mostDevices)
	}
	page, err := s.client.LatestPage(ctx, q)
	if err != nil {
		return answer, err
	}
	var cover query.Coverage
	for _, l := range page.Latest {
		cover.AddMissing(&l.Coverage)
		one := latestOf{Device: l.Device}
		if l.Reading != nil {
			r := newReading(l.Reading)
			one.Reading = &r
		}
		answer.Latest = append(answer.Latest, one)
	}
	answer.Next, answer.Notes, answer.missingTables = page.Next, page.Notes, missingOf(&cover)
	if answer.Next != "" {
		answer.Note = more
	}
	return answer, nil
}
