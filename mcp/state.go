package mcp

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type whyParams struct {
	Device string `json:"device" jsonschema:"the device"`
	Time   string `json:"time" jsonschema:"the event time of the reading, in RFC 3339"`
	ID     string `json:"id,omitempty" jsonschema:"the id of the reading; default: any"`
	Stream string `json:"stream,omitempty" jsonschema:"the stream; default: all streams"`
}

func addWhy(s *Server) error {
	return add(s, tool{"why", "Where a reading is", "Explains where the reading of a device at a time is, when it expires and by which rule, " +
		"or why it is missing: it expired, was rejected, or never arrived."},
		func(ctx context.Context, p whyParams) (wire.WhyBody, error) {
			return s.client.Why(ctx, client.WhyQuery{Device: p.Device, Time: p.Time, ID: p.ID, Stream: p.Stream})
		})
}

type alertParams struct {
	Device   string `json:"device,omitempty" jsonschema:"only alerts of this device; not together with severity"`
	Severity string `json:"severity,omitempty" jsonschema:"only alerts of this severity: info, warning or critical"`
	State    string `json:"state,omitempty" jsonschema:"open or resolved; default: both"`
	Stream   string `json:"stream,omitempty" jsonschema:"only alerts of this stream"`
	Rule     string `json:"rule,omitempty" jsonschema:"only alerts of the rule with this id"`
	From     string `json:"from,omitempty" jsonschema:"only alerts whose condition began to hold at this event time or later: RFC 3339, a date or month, now, today, yesterday, or relative as in -24h or -1mo"`
	To       string `json:"to,omitempty" jsonschema:"only alerts whose condition began to hold before this event time"`
	During   string `json:"during,omitempty" jsonschema:"instead of from and to: a year, month, day, hour or minute, as in 2026-04"`
	Limit    int    `json:"limit,omitempty" jsonschema:"maximum number of alerts: default 50, at most 100"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"the value of next in an earlier answer; continues after it"`
}

type alertAnswer struct {
	Alerts []wire.AlertBody `json:"alerts" jsonschema:"newest first"`
	Next   string           `json:"next,omitempty" jsonschema:"the cursor of the following alerts; absent at the end"`
	Note   string           `json:"note,omitempty"`
}

func addAlerts(s *Server) error {
	return add(s, tool{"alerts", "Alerts", "Returns alerts, newest first: the condition, since when it holds, the value that raised it, and whether the reading arrived late. " +
		"It does not resolve, acknowledge or mute them."}, s.alerts)
}

func (s *Server) alerts(ctx context.Context, p alertParams) (answer alertAnswer, err error) {
	limit, err := limitOf(p.Limit, 50, 100)
	if err != nil {
		return answer, err
	}
	q := client.AlertQuery{Device: p.Device, Severity: p.Severity, State: p.State, Stream: p.Stream, Rule: p.Rule, From: p.From, To: p.To, During: p.During}
	page, err := s.client.SelectAlerts(ctx, q, client.List{Limit: limit, Cursor: p.Cursor})
	if err != nil {
		return answer, err
	}
	if answer.Alerts, answer.Next = page.Alerts, page.Next; answer.Alerts == nil {
		answer.Alerts = []wire.AlertBody{}
	}
	if answer.Next != "" {
		answer.Note = more
	}
	return answer, nil
}

type planParams struct {
	At string `json:"at,omitempty" jsonschema:"plan for this time, with the tables as they are now: RFC 3339, a date, or relative as in +30d; default: now"`
}

type planAnswer struct {
	wire.PlanBody
	Note string `json:"note,omitempty"`
}

func addPlan(s *Server) error {
	return add(s, tool{"plan", "Plan of the rotator", "Returns the tables that the rotator would create, tune, retire, restore or drop at a time, with reasons. " +
		"It does not apply the plan. It requires an admin key of the tenant default."}, s.plan)
}

func (s *Server) plan(ctx context.Context, p planParams) (answer planAnswer, err error) {
	if answer.PlanBody, err = s.client.Plan(ctx, p.At); err != nil {
		return answer, err
	}
	const most = 150
	actions, skipped := len(answer.Actions), len(answer.Skipped)
	answer.Actions, answer.Skipped = answer.Actions[:min(actions, most)], answer.Skipped[:min(skipped, most)]
	if actions > most || skipped > most {
		answer.Note = fmt.Sprintf("The plan has %d actions and %d skipped tables; the first %d of each are returned: varve tables plan prints all.", actions, skipped, most)
	}
	return answer, nil
}

type streamsAnswer struct {
	Streams []wire.StreamInfo `json:"streams"`
	Note    string            `json:"note,omitempty"`
}

type deviceParams struct {
	Stream      string   `json:"stream,omitempty" jsonschema:"only devices with a live reading in this stream"`
	Status      string   `json:"status,omitempty" jsonschema:"only devices of this status: active, inactive or maintenance"`
	Type        string   `json:"type,omitempty" jsonschema:"only devices of this type"`
	Attributes  []string `json:"attributes,omitempty" jsonschema:"only devices with all these registered attributes, each as name:value, as in site:north"`
	SilentSince string   `json:"silent_since,omitempty" jsonschema:"only devices without a reading since this time: RFC 3339, a date or month, now, today, yesterday, or relative as in -24h or -1mo"`
	Limit       int      `json:"limit,omitempty" jsonschema:"maximum number of devices: default 100, at most 200"`
	Cursor      string   `json:"cursor,omitempty" jsonschema:"the value of next in an earlier answer; continues after it"`
}

// device is a device of a list. In the list of a stream, it has the times of its last reading in the
// stream. In the list of all devices, it has the time at which it was last seen.
type device struct {
	Device   string `json:"device"`
	Status   string `json:"status,omitempty"`
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Location string `json:"location,omitempty"`
	LastSeen string `json:"last_seen,omitempty" jsonschema:"when a reading of any stream last arrived, to the minute"`
	Time     string `json:"time,omitempty" jsonschema:"event time of the last reading in the stream"`
	Arrived  string `json:"arrived,omitempty" jsonschema:"arrival of the last reading in the stream"`
}

type devicesAnswer struct {
	Devices []device `json:"devices"`
	Next    string   `json:"next,omitempty" jsonschema:"the cursor of the following devices; absent at the end"`
	Note    string   `json:"note,omitempty"`
}

func addDirectory(s *Server) error {
	err := add(s, tool{"streams", "Streams", "Returns the streams, with their retention classes."},
		func(ctx context.Context, _ struct{}) (answer streamsAnswer, err error) {
			list, err := s.client.Streams(ctx)
			if err != nil {
				return answer, err
			}
			var cut bool
			if answer.Streams, cut, err = fitting(list.Streams); cut {
				answer.Note = fmt.Sprintf("The first %d of %d streams are returned: varve streams prints all.", len(answer.Streams), len(list.Streams))
			}
			return answer, err
		})
	if err != nil {
		return err
	}
	return add(s, tool{"devices", "Devices", "Returns registered devices in the order of their names, and when they last sent a reading. " +
		"With silent_since, it finds devices that stopped."}, s.devices)
}

func (s *Server) devices(ctx context.Context, p deviceParams) (answer devicesAnswer, err error) {
	answer.Devices = []device{}
	l := client.List{Cursor: p.Cursor}
	if l.Limit, err = limitOf(p.Limit, 100, mostDevices); err != nil {
		return answer, err
	}
	q := client.DeviceQuery{Status: p.Status, Type: p.Type, Attributes: p.Attributes, SilentSince: p.SilentSince, By: varve.ByEvent}
	if p.Stream != "" {
		page, err := s.client.StreamDevices(ctx, p.Stream, q, l)
		if err != nil {
			return answer, err
		}
		for _, d := range page.Devices {
			answer.Devices = append(answer.Devices, device{
				Device: d.Device, Status: d.Status, Type: d.Type,
				Time: string(wire.AppendTime(nil, d.Time)), Arrived: string(wire.AppendTime(nil, d.Arrived)),
			})
		}
		answer.Next = page.Next
	} else {
		page, err := s.client.SelectDevices(ctx, q, l)
		if err != nil {
			return answer, err
		}
		for i := range page.Devices {
			d := &page.Devices[i]
			one := device{Device: d.Device, Status: d.Status, Name: d.Name, Type: d.Type, Location: d.Location}
			if d.LastSeenAt != nil {
				one.LastSeen = string(wire.AppendTime(nil, *d.LastSeenAt))
			}
			answer.Devices = append(answer.Devices, one)
		}
		answer.Next = page.Next
	}
	if answer.Next != "" {
		answer.Note = more
	}
	return answer, nil
}
