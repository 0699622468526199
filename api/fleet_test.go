package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

// fleet returns a server with four registered devices. The reading of the device "old" arrived 25 hours ago.
// The device "new" sent two readings, which happened a minute ago and an hour ago. The device "late" sent its
// oldest reading last, and the device "idle" sent nothing.
func fleet(t *testing.T) *server {
	t.Helper()
	s := newServer(t, nil)
	line := func(device string, ago time.Duration, fields string) string {
		return fmt.Sprintf(`{"device":%q,"time":%q,"fields":{%s}}`, device, noon.Add(-ago).Format(time.RFC3339), fields)
	}
	s.write(line("old", 48*time.Hour, `"a":1`), line("late", 49*time.Hour, `"a":1,"b":2`))
	s.advance(25 * time.Hour)
	s.write(line("late", 72*time.Hour, `"a":1`), line("new", -25*time.Hour+time.Minute, `"a":1`), line("new", -25*time.Hour+time.Hour, `"a":2`))
	if r := s.send(http.MethodPut, "/v1/devices/idle", `{"type":"gate"}`); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	return s
}

// names returns the devices in an answer, which lists devices or latest readings.
func names(r *reply) string {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("%d %s", r.status, r.body)
	}
	a := decode[struct{ Devices, Latest []struct{ Device string } }](r)
	var list []string
	for _, d := range append(a.Devices, a.Latest...) {
		list = append(list, d.Device)
	}
	return strings.Join(list, " ")
}

func TestStream_ListsDevicesAndLatest(t *testing.T) {
	s := fleet(t)
	const list, latest = "/v1/streams/weather/devices", "/v1/streams/weather/latest"
	for _, tt := range []struct{ reason, path, want string }{
		{"devices of a stream", list, "late new old"},
		{"latest of a stream", latest, "late new old"},
		{"latest of a stream, with a type", with(latest, "device_type", "gate"), ""},
		{"a status", with(list, "status", "maintenance"), ""},
		{"silent by event time", with(list, "silent_since", "-24h"), "late old"},
		{"silent by arrival", with(list, "silent_since", "-24h", "by", "arrival"), "old"},
		{"silent in any stream, by arrival", with("/v1/devices", "silent_since", "-24h"), "idle old"},
		{"registered devices of a type", with("/v1/devices", "device_type", "gate"), "idle"},
	} {
		got := names(s.get(tt.path))
		for range 10_000 { // retries, because last-seen times are written in the background
			if got == tt.want {
				break
			}
			got = names(s.get(tt.path))
		}
		if got != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.reason, tt.path, got, tt.want)
		}
	}
	one := decode[wire.StreamDeviceList](s.get(with(list, "by", "arrival"))).Devices[0]
	if want := noon.Add(-72 * time.Hour); !one.Time.Equal(want) || !one.Arrived.Equal(noon.Add(25*time.Hour)) {
		t.Errorf("%+v, want the reading of %s", one, want)
	}
	for _, path := range []string{list, latest} {
		var all []string
		for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
			params := []string{"limit", "1"}
			if cursor != "" {
				params = append(params, "cursor", cursor)
			}
			r := s.get(with(path, params...))
			all = append(all, names(r))
			cursor = decode[struct{ Next string }](r).Next
		}
		if got := strings.Join(all, "|"); got != "|late|new|old" {
			t.Errorf("%s in pages: %q", path, got)
		}
	}
}

func TestCounts_AreExact(t *testing.T) {
	s := fleet(t)
	s.write(good(noon))
	s.send(http.MethodPost, writePath, good(noon)) // resends the stored reading
	for _, source := range []string{"readings", "rollups"} {
		r := s.get(with("/v1/streams/weather/counts", "source", source))
		a := decode[wire.CountsBody](r)
		var got []string
		for _, c := range a.Counts {
			got = append(got, fmt.Sprintf("%s=%d", c.Device, c.Readings))
		}
		if text := strings.Join(got, " "); text != "d1=1 late=2 new=2 old=1" || a.Devices != 4 || a.Readings != 6 || a.Source != source {
			t.Errorf("%s: %s", source, r.body)
		}
	}
	if a := decode[wire.CountsBody](s.get(with("/v1/streams/weather/counts", "during", "2026-11-16", "devices", "old,nobody,new"))); a.Readings != 1 || a.Devices != 1 ||
		len(a.Notes) != 1 || !strings.HasPrefix(a.Notes[0].Message, "device nobody: not found") {
		t.Errorf("%+v", a)
	}
	s.get(with("/v1/streams/weather/counts", "source", "rollups", "from", "2026-11-16T00:30:00Z")).problem(http.StatusBadRequest, "query.from", "whole hours")
	s.advance(400 * 24 * time.Hour)
	if a := decode[wire.CountsBody](s.get("/v1/streams/weather/counts")); a.Readings != 0 {
		t.Errorf("live readings after the retention: %+v", a)
	}
	if a := decode[wire.CountsBody](s.get(with("/v1/streams/weather/counts", "source", "rollups"))); a.Readings != 6 {
		t.Errorf("readings in roll-ups after the retention: %+v", a)
	}
}

// TestUnknownNames_AreNotFound checks that an unknown stream or device is an error on each route
// about one series. An empty window of a known series is not an error.
func TestUnknownNames_AreNotFound(t *testing.T) {
	s := fleet(t)
	series := "/v1/streams/%s/devices/%s/"
	for _, tail := range []string{
		"readings", "readings?format=csv", "readings?format=ndjson", "readings?format=columns", "readings?explain=true", "latest", "rollups?period=daily", "aggregate?step=1d",
	} {
		s.get(fmt.Sprintf(series, "wether", "old")+tail).problem(http.StatusNotFound, "", "stream wether: not found")
		s.get(fmt.Sprintf(series, "weather", "odl")+tail).problem(http.StatusNotFound, "", "device odl: not found")
	}
	s.send(http.MethodPost, fmt.Sprintf(series, "wether", "old")+"rollups", "").problem(http.StatusNotFound, "", "stream wether")
	for _, tail := range []string{"latest", "latest?device=old", "devices", "counts", "aggregate?step=1d"} {
		s.get("/v1/streams/wether/"+tail).problem(http.StatusNotFound, "", "stream wether: not found")
	}
	for _, tail := range []string{"logs", "alerts"} {
		s.get("/v1/devices/odl/"+tail).problem(http.StatusNotFound, "", "device odl: not found")
		if r := s.get("/v1/devices/old/" + tail); r.status != http.StatusOK {
			t.Errorf("%s of a registered device: %d %s", tail, r.status, r.body)
		}
	}
	for _, tail := range []string{"readings?during=1999", "rollups?period=daily&during=1999", "aggregate?step=1d&during=1999"} {
		if r := s.get(fmt.Sprintf(series, "weather", "old") + tail); r.status != http.StatusOK || strings.Contains(r.body, "notes") {
			t.Errorf("%s: %d %s", tail, r.status, r.body)
		}
	}
	// A deleted device still has readings.
	if r := s.send(http.MethodDelete, "/v1/devices/old", ""); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	if r := s.get(fmt.Sprintf(series, "weather", "old") + "readings?during=1999"); r.status != http.StatusOK {
		t.Errorf("a forgotten device: %d %s", r.status, r.body)
	}
}

// TestUnknownFields_HaveNotes checks that an answer has notes on requested fields and devices that
// do not exist.
func TestUnknownFields_HaveNotes(t *testing.T) {
	s := fleet(t)
	const path = "/v1/streams/weather/devices/new/"
	noted := func(reason, text string, want ...string) {
		t.Helper()
		for _, name := range want {
			if !strings.Contains(text, name+`\": not found`) && !strings.Contains(text, name+": not found") {
				t.Errorf("%s: %s: want a note on %s", reason, text, name)
			}
		}
		if got := strings.Count(text, "not found"); got != len(want) {
			t.Errorf("%s: %s: %d notes, want %d", reason, text, got, len(want))
		}
	}
	for _, tail := range []string{"readings?", "readings?format=columns&", "latest?", "rollups?period=hourly&", "aggregate?step=1h&"} {
		noted(tail, s.get(path+tail+"fields=a,nosuch").body, "nosuch")
		noted(tail, s.get(path+tail+"fields=a").body)
	}
	for _, tail := range []string{"readings?format=csv&", "readings?format=ndjson&", "aggregate?step=1h&format=csv&", "aggregate?step=1h&format=ndjson&"} {
		r := s.get(path + tail + "fields=a,%C3%A9t%C3%A9")
		if got, want := r.trailer.Get("Varve-Notes"), `[{"param":"query.fields","message":"field \"\u00e9t\u00e9\": not found in this answer: check its name"}]`; got != want {
			t.Errorf("%s: %s, want %s", tail, got, want)
		}
	}
	noted("latest of a stream", s.get("/v1/streams/weather/latest?fields=b,nosuch").body, "nosuch")
	noted("latest of named devices", s.get("/v1/streams/weather/latest?device=old&device=odl&device=idle").body, "odl")
	noted("aggregate of named devices", s.get("/v1/streams/weather/aggregate?step=1d&devices=old,odl,idle").body, "odl")
	r := s.get("/v1/streams/weather/aggregate?step=1d&limit=1")
	if a := decode[wire.AggregatesBody](r); len(a.Buckets) != 1 || len(a.Notes) != 1 || !strings.Contains(a.Notes[0].Message, "1 of 4 buckets are returned") {
		t.Errorf("limit: %s", r.body)
	}
}
