package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/timefmt"
)

// Limits of a request for the health of devices.
const (
	maxHealthDevices = 2_000  // maximum number of devices that a request may select
	maxHealthAlerts  = 10_000 // number of open alerts after which no further page of them is read
	maxHealthWindow  = 31 * 24 * time.Hour
)

type deviceHealthHandler struct {
	*responder
	*directory
	monitor *alerts.Monitor
	rollups *rollup.Reader // if nil, roll-ups are off
	reads   *reads
	now     func() time.Time
}

func (h *deviceHealthHandler) addRoutes(o *operations) {
	huma.Register(o.api, deviceOp("devices", "list-device-health", http.MethodGet, "/v1/device-health", "How well devices report, the worst first",
		"Its lag, completeness, last-seen time and open alerts. The default, worst, puts active devices first; then it compares the highest severity and the number "+
			"of open alerts, completeness, and the last-seen time. It reads the latest reading of each selected device in each stream, and its hourly roll-ups. "+
			"It selects at most 2000 devices. Each page is recomputed."), h.listHealth)
}

type healthQuery struct {
	Search string `query:"search" doc:"only devices with this text in their id, name, type, location or firmware; letter case does not matter"`
	Status string `query:"status" enum:"active,inactive,maintenance" doc:"only devices of this status; default: all"`
	Type   string `query:"device_type" doc:"only devices of this type; default: all"`
	AttributeFilter
	Window string `query:"window" doc:"the time for which completeness is computed, in whole hours up to 31d, as in 24h or 7d; default 24h"`
	Sort   string `query:"sort" enum:"worst,name,last_seen,lag,completeness" doc:"default worst; lag and completeness begin with the worst, last_seen with the longest silence"`
	Paging
}

func (h *deviceHealthHandler) listHealth(ctx context.Context, in *healthQuery) (*reply[wire.DeviceHealthList], error) {
	body, err := h.list(ctx, in)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.DeviceHealthList]{*body}, nil
}

func (h *deviceHealthHandler) list(ctx context.Context, in *healthQuery) (*wire.DeviceHealthList, error) {
	w, hours, err := in.window(h.now())
	if err != nil {
		return nil, err
	}
	question := append([]string{"health", tenantOf(ctx), in.Search, in.Status, in.Type, in.Window, in.Sort}, in.Attributes...)
	skip, err := offsetOf(in.Cursor, question)
	if err != nil {
		return nil, err
	}
	found, err := h.selected(ctx, in)
	if err != nil {
		return nil, err
	}
	report := healthReport{deviceHealthHandler: h, tenant: tenantOf(ctx), window: w, hours: hours, list: found}
	limit := in.Limit
	if limit == 0 {
		limit = registry.DefaultLimit
	}
	page := pageOf(len(found), skip, limit)
	if in.Sort == "name" { // found has this order already, so only the devices of the page are examined
		report.list = found[page.from:page.to]
	}
	if err := report.collect(ctx); err != nil {
		return nil, err
	}
	body := &wire.DeviceHealthList{Devices: report.bodies, Total: len(found), From: w.From, To: w.To, Hours: hours, Notes: report.notes}
	if in.Sort != "name" {
		sortHealth(body.Devices, in.Sort)
		body.Devices = body.Devices[page.from:page.to]
	}
	if page.to < len(found) {
		body.Next = registry.EncodeCursor(question, strconv.Itoa(page.to))
	}
	return body, nil
}

// window returns the window for which completeness is computed. It has whole hours, and ends where the
// present hour begins.
func (in *healthQuery) window(now time.Time) (w varve.Window, hours int, err error) {
	length := 24 * time.Hour
	if in.Window != "" {
		if length, err = timefmt.ParseDuration(in.Window); err != nil || length < time.Hour || length > maxHealthWindow {
			return w, 0, varve.InvalidParam("query.window", "%q is not a duration from 1h to 31d: use one as in 7d", in.Window)
		}
	}
	w.To = now.UTC().Truncate(time.Hour)
	w.From = w.To.Add(-length.Truncate(time.Hour))
	return w, int(w.To.Sub(w.From) / time.Hour), nil
}

// offsetOf returns the number of devices on earlier pages.
func offsetOf(cursor string, question []string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	parts, err := registry.ParseCursor(cursor, question, 1)
	if err != nil {
		return 0, prefixParam(err, "query")
	}
	n, err := strconv.Atoi(parts[0])
	if err != nil || n < 0 {
		return 0, varve.InvalidParam("query.cursor", "not a cursor of this list: omit it")
	}
	return n, nil
}

// indexes is the range of list indexes of a page, [from, to).
type indexes struct{ from, to int }

func pageOf(all, skip, limit int) indexes {
	from := min(skip, all)
	return indexes{from, min(from+limit, all)}
}

// selected returns the devices that match a query, in the order of their names.
func (h *deviceHealthHandler) selected(ctx context.Context, in *healthQuery) (found []devices.Device, err error) {
	attributes, err := devices.ParseAttributes(in.Attributes)
	if err != nil {
		return nil, prefixParam(err, "query")
	}
	q := devices.Query{Tenant: tenantOf(ctx), Status: devices.Status(in.Status), Type: in.Type, Attributes: attributes, Limit: registry.MaxLimit}
	text := strings.ToLower(in.Search)
	for {
		page, err := h.devices.List(ctx, q)
		if err != nil {
			return nil, prefixParam(err, "query")
		}
		for i := range page.Items {
			if d := &page.Items[i]; text == "" || hasText(d, text) {
				found = append(found, *d)
			}
		}
		if len(found) > maxHealthDevices {
			return nil, varve.InvalidParam("query.search", "more than %d devices match: use a search, status, device_type or attribute that selects fewer", maxHealthDevices)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return found, nil
		}
	}
}

// hasText reports whether the id, name, type, location or firmware of a device contains a text, in
// any letter case. The argument text must be in lower case.
func hasText(d *devices.Device, text string) bool {
	for _, of := range []string{d.Device, d.Name, d.Type, d.Location, d.Firmware} {
		if strings.Contains(strings.ToLower(of), text) {
			return true
		}
	}
	return false
}

type healthReport struct {
	*deviceHealthHandler
	tenant string
	window varve.Window
	hours  int
	list   []devices.Device

	bodies []wire.DeviceHealth
	notes  []wire.Note
}

func (s *healthReport) collect(ctx context.Context) error {
	s.bodies = make([]wire.DeviceHealth, len(s.list))
	for i := range s.list {
		d := &s.list[i]
		s.bodies[i] = wire.DeviceHealth{
			Device: d.Device, Name: d.Name, Type: d.Type, Status: string(d.Status), Location: d.Location,
			LastSeenAt: orNull(d.LastSeenAt), Streams: []wire.StreamLatest{},
		}
	}
	if err := s.addLatest(ctx); err != nil {
		return err
	}
	if err := s.addAlerts(ctx); err != nil {
		return err
	}
	for i := range s.bodies {
		if err := s.addHours(ctx, &s.bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

// addLatest adds the latest reading of each listed device in each stream.
func (s *healthReport) addLatest(ctx context.Context) error {
	list, err := s.streams.List(ctx, s.tenant)
	if err != nil {
		return err
	}
	for i := range list {
		answers, err := s.latestOfPage(ctx, query.LatestQuery{Series: varve.Series{Tenant: s.tenant, Stream: list[i].Name}}, s.list)
		if err != nil {
			return err
		}
		for j := range answers {
			if answers[j].Found {
				addLatest(&s.bodies[j], list[i].Name, &answers[j].Reading)
			}
		}
	}
	return nil
}

// addLatest adds the latest reading in a stream. The stream with the latest event time comes first in
// b.Streams, and determines the lag.
func addLatest(b *wire.DeviceHealth, stream string, r *varve.Reading) {
	one := wire.StreamLatest{Stream: stream, Time: r.Time, Arrived: r.Arrived}
	b.Streams = append(b.Streams, one)
	if last := len(b.Streams) - 1; b.Streams[0].Time.Before(one.Time) {
		b.Streams[0], b.Streams[last] = b.Streams[last], b.Streams[0]
	}
	lag := b.Streams[0].Arrived.Sub(b.Streams[0].Time).Seconds()
	b.LagSeconds = &lag
}
