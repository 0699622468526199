package mcp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// Limits of a call of the tool "lateness".
const (
	maxLateReadings = 20_000
	maxLateDevices  = 50
)

type latenessParams struct {
	Stream string `json:"stream" jsonschema:"the stream"`
	Device string `json:"device,omitempty" jsonschema:"the device; default: up to 50 devices of the stream"`
	window
	Archive string `json:"archive,omitempty" jsonschema:"true: also readings in archives, and expired ones; only: only archives; false: neither; default: the setting of the stream"`
}

// latenessAnswer is a distribution of the lateness of readings: arrival minus event time.
type latenessAnswer struct {
	Readings int            `json:"readings" jsonschema:"the number of readings that were measured"`
	Devices  int            `json:"devices" jsonschema:"the number of devices that were measured"`
	Seconds  *latenessStats `json:"seconds,omitempty" jsonschema:"seconds from event time to arrival; negative if the device's clock is ahead"`
	Ranges   []lateRange    `json:"ranges" jsonschema:"the number of readings in each range of lateness"`
	Latest   *lateReading   `json:"latest,omitempty" jsonschema:"the reading with the greatest lateness"`
	Complete bool           `json:"complete" jsonschema:"whether all readings of the window were measured; always false for archives without a device, and if tables are missing"`
	Notes    []wire.Note    `json:"notes,omitempty" jsonschema:"names that do not exist"`
	Note     string         `json:"note,omitempty"`
	missingTables
}

type latenessStats struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

type lateRange struct {
	Range    string `json:"range" jsonschema:"lateness, as in 1m to 10m"`
	Readings int    `json:"readings"`
}

type lateReading struct {
	Device string `json:"device"`
	Time   string `json:"time"`
	ID     string `json:"id"`
}

// lateRanges are the ranges of lateness in the distribution. A range includes its beginning, which is
// the end of the range before it, and excludes its end.
var lateRanges = []struct {
	name string
	to   time.Duration // end of the range
}{
	{"before its event time", 0}, {"up to 10s", 10 * time.Second}, {"10s to 1m", time.Minute}, {"1m to 10m", 10 * time.Minute},
	{"10m to 1h", time.Hour}, {"1h to 1d", 24 * time.Hour}, {"1d to 7d", 7 * 24 * time.Hour}, {"7d to 31d", 31 * 24 * time.Hour},
	{"more than 31d", math.MaxInt64},
}

func addLateness(s *Server) error {
	return add(s, tool{"lateness", "Lateness of readings", "Returns the distribution of lateness, arrival minus event time, of the readings of a device or a stream in a window. " +
		"It measures up to 20,000 readings, the newest of each device first."}, s.lateness)
}

func (s *Server) lateness(ctx context.Context, p latenessParams) (answer latenessAnswer, err error) {
	answer.Ranges, answer.Complete = []lateRange{}, true
	devices := []string{p.Device}
	if p.Device == "" {
		page, err := s.client.StreamDevices(ctx, p.Stream, client.DeviceQuery{}, client.List{Limit: maxLateDevices})
		if err != nil {
			return answer, err
		}
		archived, err := s.readsArchives(ctx, &p)
		if err != nil {
			return answer, err
		}
		// Devices without live readings are not in the list, and may have archived readings.
		devices, answer.Complete = nil, page.Next == "" && !archived
		for _, d := range page.Devices {
			devices = append(devices, d.Device)
		}
	}
	var all latenesses
	var cover query.Coverage
	for _, device := range devices {
		q := client.Query{
			Stream: p.Stream, Device: device, From: p.From, To: p.To, During: p.During, Archive: p.Archive,
			Order: varve.Descending, Limit: max(maxLateReadings/len(devices), 1),
		}
		var rest client.Answer
		for r, err := range s.client.Readings(ctx, q, &rest) {
			if err != nil {
				return answer, err
			}
			all.add(device, r)
		}
		answer.Notes = append(answer.Notes, rest.Notes...)
		answer.Complete = answer.Complete && rest.Next == ""
		cover.AddMissing(&rest.Coverage)
	}
	answer.missingTables = missingOf(&cover)
	all.fill(&answer)
	answer.Devices = len(devices)
	if len(cover.Missing) > 0 || cover.MoreMissing > 0 {
		answer.Complete, answer.Note = false, "Not all readings were measured: tables are missing."
	} else if !answer.Complete {
		answer.Note = fmt.Sprintf("Not all readings were measured: at most %d readings of %d devices with live readings are. Use a shorter window, or name a device.", maxLateReadings, maxLateDevices)
	}
	return answer, nil
}

// readsArchives reports whether queries with the given parameters read archived tables.
func (s *Server) readsArchives(ctx context.Context, p *latenessParams) (bool, error) {
	if p.Archive != "" {
		return p.Archive != "false", nil
	}
	list, err := s.client.Streams(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Streams, func(st wire.StreamInfo) bool { return st.Name == p.Stream && st.Archive }), nil
}

type latenesses struct {
	all    []time.Duration
	latest lateReading   // the reading with the greatest lateness
	most   time.Duration // lateness of latest
}

func (l *latenesses) add(device string, r *varve.Reading) {
	late := r.Arrived.Sub(r.Time)
	if len(l.all) == 0 || late > l.most {
		l.most, l.latest = late, lateReading{device, string(wire.AppendTime(nil, r.Time)), r.ID.String()}
	}
	l.all = append(l.all, late)
}

// fill sets the fields Readings, Seconds, Latest and Ranges of an answer.
func (l *latenesses) fill(answer *latenessAnswer) {
	if answer.Readings = len(l.all); len(l.all) == 0 {
		return
	}
	slices.Sort(l.all)
	at := func(part float64) float64 { // returns a percentile by nearest rank, in seconds
		rank := int(math.Ceil(part * float64(len(l.all))))
		return math.Round(l.all[max(rank, 1)-1].Seconds()*1000) / 1000
	}
	answer.Seconds = &latenessStats{Min: at(0), Median: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
	answer.Latest = &l.latest
	before := 0
	for i, r := range lateRanges {
		end := len(l.all)
		if i < len(lateRanges)-1 {
			end, _ = slices.BinarySearch(l.all, r.to)
		}
		if end > before {
			answer.Ranges = append(answer.Ranges, lateRange{r.name, end - before})
		}
		before = end
	}
}
