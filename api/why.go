package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// maxWhyStreams limits the streams that a request searches if it does not name a stream.
const maxWhyStreams = 100

// whyHandler explains where readings are, or why they are not found.
type whyHandler struct {
	*responder
	query   *query.Engine
	streams *streams.Registry
	devices *devices.Registry
	rejects *rejects.Registry
	rotator *rotator.Rotator
	archive Archive
	reads   *reads
	now     func() time.Time
}

func (h *whyHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{
		OperationID: "why-reading", Method: http.MethodGet, Path: "/v1/devices/{device}/why", Tags: []string{"readings"},
		Summary: "Where a reading is, or why it is not found",
		Description: "Searches all tables, including expired readings. Names the table that holds the reading or would hold it, the rule by which it expires, " +
			"and when the table is retired and dropped. Names stored rejects that may be the reading.",
	}, h.getWhy)
}

type whyQuery struct {
	Device string `path:"device" doc:"the device"`
	Time   string `query:"time" required:"true" doc:"event time of the reading, in the forms of readings; a whole second stands for all readings in it"`
	ID     string `query:"id" doc:"id of the reading; default: any"`
	Stream string `query:"stream" doc:"only this stream; default: all streams of the tenant, up to 100"`
}

func (h *whyHandler) getWhy(ctx context.Context, in *whyQuery) (*reply[wire.WhyBody], error) {
	at, err := h.timeOf(in)
	if err != nil {
		return nil, h.problem(err)
	}
	found, err := h.rejects.Find(ctx, varve.Series{Tenant: tenantOf(ctx), Stream: in.Stream, Device: in.Device}, varve.Window{From: at, To: at.Add(unitOf(at))})
	if err != nil {
		return nil, h.problem(err)
	}
	names, err := h.streamsOf(ctx, in.Stream)
	if varve.FailureOf(err) == varve.NotFound && len(found) > 0 {
		err = nil // the stream does not exist, because all its readings were rejected
	}
	if err != nil {
		return nil, h.problem(err)
	}
	body := wire.WhyBody{Device: in.Device, Time: string(wire.AppendTime(nil, at)), ID: in.ID, Streams: []wire.WhyStream{}}
	if _, err = h.devices.Get(ctx, tenantOf(ctx), in.Device); err != nil && varve.FailureOf(err) != varve.NotFound {
		return nil, h.problem(err)
	}
	body.Known = err == nil
	for _, name := range names {
		series := varve.Series{Tenant: tenantOf(ctx), Stream: name, Device: in.Device}
		var t query.Trace
		err := h.reads.inTurn(ctx, func() (err error) {
			t, err = h.query.Trace(ctx, series, varve.Window{From: at, To: at.Add(unitOf(at))})
			return err
		})
		if err != nil {
			return nil, h.problem(err)
		}
		others := otherIDs(t.Copies, in.ID)
		t.Copies = slices.DeleteFunc(t.Copies, func(c query.TracedCopy) bool { return in.ID != "" && c.ID.String() != in.ID })
		s := h.explain(ctx, name, at, &t)
		if s.OtherIDs = others; len(t.Copies) == 0 && len(others) > 0 {
			s.Text += " At this time, the device has other ids: " + strings.Join(others, ", ") + "."
		}
		nameReject(&s, found)
		body.Streams = append(body.Streams, s)
	}
	for i := range found {
		r := &found[i]
		body.Rejects = append(body.Rejects, wire.WhyReject{
			ID: r.ID, Stream: r.Stream, Code: string(r.Code), Message: r.Message, Last: r.Last, Exact: !r.Time.IsZero(),
		})
	}
	holds := func(s wire.WhyStream) bool { return len(s.Readings) > 0 || len(s.OtherIDs) > 0 }
	if in.Stream == "" && slices.ContainsFunc(body.Streams, holds) {
		body.Streams = slices.DeleteFunc(body.Streams, func(s wire.WhyStream) bool { return !holds(s) })
	}
	return &reply[wire.WhyBody]{body}, nil
}

// maxOtherIDs limits the ids that an answer names besides the requested one.
const maxOtherIDs = 5

// otherIDs returns the ids of copies other than the requested id, up to maxOtherIDs. If the request has no
// id, it returns none.
func otherIDs(copies []query.TracedCopy, id string) (others []string) {
	for i := range copies {
		if text := copies[i].ID.String(); id != "" && text != id && !slices.Contains(others, text) && len(others) < maxOtherIDs {
			others = append(others, text)
		}
	}
	return others
}

func (h *whyHandler) timeOf(in *whyQuery) (time.Time, error) {
	if err := varve.ValidateDevice(in.Device); err != nil {
		return time.Time{}, varve.InvalidParam("path.device", "%s", err)
	}
	if _, err := time.Parse(time.DateOnly, in.Time); err == nil {
		return time.Time{}, varve.InvalidParam("query.time", "%s is a whole day: use the time of one reading, as in %sT12:00:00Z", in.Time, in.Time)
	}
	at, err := moment(url.Values{"time": {in.Time}}, "time", wire.TimeFormat{}, h.now(), time.Time{})
	if err == nil && at.IsZero() {
		err = varve.InvalidParam("query.time", "missing: send the event time of the reading")
	}
	return at, err
}

// streamsOf returns the streams to search: the given one, or all streams of the tenant.
func (h *whyHandler) streamsOf(ctx context.Context, stream string) (names []string, err error) {
	list, err := h.streams.List(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	for i := range list {
		if stream == "" || stream == list[i].Name {
			names = append(names, list[i].Name)
		}
	}
	switch {
	case stream != "" && len(names) == 0:
		return nil, varve.Errorf(varve.NotFound, "stream %s: not found: GET /v1/streams lists all streams", stream)
	case len(names) > maxWhyStreams:
		return nil, varve.InvalidParam("query.stream", "required: the tenant has %d streams, more than %d", len(names), maxWhyStreams)
	}
	return names, nil
}

// unitOf returns the unit to which a time is exact: a second, a millisecond, a microsecond or a
// nanosecond. A request with a whole second selects all readings in this second, and so on.
func unitOf(at time.Time) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if at.Nanosecond()%int(unit) == 0 {
			return unit
		}
	}
	return 1
}

// explain returns the state of the searched readings in a stream.
func (h *whyHandler) explain(ctx context.Context, stream string, at time.Time, t *query.Trace) wire.WhyStream {
	s := wire.WhyStream{Stream: stream, Class: t.Class, Rule: t.Rule, Readings: []wire.WhyReading{}}
	var holders []grid.Table
	operates := grantOf(ctx).Tenant == varve.DefaultTenant
	for i := range t.Copies {
		c := &t.Copies[i]
		r := wire.WhyReading{
			Time: string(wire.AppendTime(nil, c.Time)), ID: c.ID.String(), Version: c.ID.Version(), Arrived: string(wire.AppendTime(nil, c.Arrived)),
			Expires: orNull(c.Expires), Alive: c.Alive,
		}
		if operates {
			r.Table = c.Table.Name()
		}
		s.Readings = append(s.Readings, r)
		holders = append(holders, c.Table)
	}
	if len(holders) == 0 {
		holders = h.possibleTables(t.Class, at)
	}
	h.describe(&s, at, t)
	if operates {
		slices.SortFunc(holders, grid.Table.Compare)
		for _, table := range slices.Compact(holders) {
			one := h.tableOf(table, t.Tables)
			h.archive.addTo(ctx, table, &one.Archived, &one.Why)
			s.Tables = append(s.Tables, one)
		}
	}
	return s
}

// possibleTables returns the tables for a reading with this event time that arrived at its event time, or
// that arrives now.
func (h *whyHandler) possibleTables(class string, at time.Time) (tables []grid.Table) {
	policy := h.rotator.Policy()
	for _, month := range []grid.Month{grid.MonthOf(at), grid.MonthOf(h.now())} {
		if rg, ok := policy.Grid.Locate(at, month); ok && month <= grid.MonthOf(h.now()) {
			tables = append(tables, grid.Table{Prefix: policy.Retention.TablePrefix(class), Range: rg, Month: month})
		}
	}
	return tables
}

// describe sets the state of a reading, and the sentence that explains it.
func (h *whyHandler) describe(s *wire.WhyStream, at time.Time, t *query.Trace) {
	alive := slices.IndexFunc(t.Copies, func(c query.TracedCopy) bool { return c.Alive })
	due := retention.Add(at, t.Keep)
	switch {
	case alive >= 0:
		c := &t.Copies[alive]
		s.State, s.Rule = wire.WhyStored, c.Rule
		s.Text = fmt.Sprintf("The reading is stored, and expires %s: %s.", onOrNever(c.Expires), c.Rule)
	case len(t.Copies) > 0:
		c := slices.MaxFunc(t.Copies, func(a, b query.TracedCopy) int { return cmp.Compare(a.Expires.Unix(), b.Expires.Unix()) })
		s.State, s.Rule = wire.WhyExpired, c.Rule
		s.Text = fmt.Sprintf("The reading expired on %s: %s. %s", minute(c.Expires), c.Rule, h.endOf(&c, t.Tables))
	case at.After(h.now().Add(h.rotator.Policy().Grid.Future)):
		s.State = wire.WhyRejected
		s.Text = "No reading is stored. A reading with this time is rejected as time_in_future: it is further ahead than tables.future."
	case !due.IsZero() && !due.After(h.now()):
		s.State = wire.WhyRemoved
		s.Text = fmt.Sprintf("No reading is stored. A reading that arrived on time would have expired on %s: %s. Otherwise it never arrived, or it was rejected and its reject is not stored.", minute(due), t.Rule)
	default:
		s.State = wire.WhyNever
		s.Text = "No reading is stored, and a reading of this time cannot have expired. It never arrived, or it was rejected and its reject is not stored."
	}
}

// endOf returns a sentence about the deletion of an expired reading: the time of the deletion, or the
// reason for which the reading stays.
func (h *whyHandler) endOf(c *query.TracedCopy, infos []store.Info) string {
	i := slices.IndexFunc(infos, func(in store.Info) bool { return in.Table == c.Table })
	if i < 0 {
		return "Its table was dropped meanwhile."
	}
	last := c.Time
	if c.Arrived.After(last) {
		last = c.Arrived
	}
	switch at := h.rotator.DeletesAt(&infos[i], c.Series.Stream, last); {
	case infos[i].Hold != "":
		return "It stays on disk while its table is on hold."
	case !h.rotator.Policy().Drop:
		return "It stays on disk, because retention.drop is false."
	case h.rotator.Policy().ArchiveFirst:
		return "It stays on disk until its table is archived and dropped."
	case at.IsZero():
		return "It stays on disk, because its table is never dropped."
	case at.Before(h.now().Add(24 * time.Hour)):
		return "It is deleted within about a day."
	default:
		return fmt.Sprintf("It is deleted about %s.", at.UTC().Format(time.DateOnly))
	}
}

// nameReject explains a missing reading by a reject with the stream and the event time of the reading.
func nameReject(s *wire.WhyStream, found []rejects.Reject) {
	i := slices.IndexFunc(found, func(r rejects.Reject) bool { return r.Stream == s.Stream && !r.Time.IsZero() })
	if i < 0 || len(s.Readings) > 0 {
		return
	}
	r := &found[i]
	s.State = wire.WhyRejected
	s.Text = fmt.Sprintf("No reading is stored. A reading with this time was rejected on %s as %s: %s. It is reject %s.", minute(r.Last), r.Code, r.Message, r.ID)
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func onOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return "on " + minute(t)
}

// tableOf describes a table, which may not exist.
func (h *whyHandler) tableOf(t grid.Table, infos []store.Info) wire.WhyTable {
	policy, w := h.rotator.Policy(), t.Window()
	one := wire.WhyTable{Name: t.Name(), From: w.From, To: w.To, WriteMonth: t.Month.String()}
	in := store.Info{Table: t, Owned: true}
	if i := slices.IndexFunc(infos, func(in store.Info) bool { return in.Table == t }); i >= 0 {
		in, one.Exists = infos[i], true
		one.State, one.Hold = string(policy.StateOf(&in, h.now())), in.Hold
	}
	schedule := policy.ScheduleOf(&in)
	one.Retires, one.Drops, one.Why = orNull(schedule.Retires), orNull(schedule.Drops), schedule.Why
	return one
}
