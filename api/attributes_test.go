package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// attributed returns a server with five devices, and a reading of each. All devices except plain have
// attributes.
func attributed(t *testing.T) *server {
	t.Helper()
	s := newServer(t, nil)
	var lines []string
	for device, attributes := range map[string]string{
		"a": `{"site":"north","floor":2.50,"live":true}`, "b": `{"site":"north","floor":"2.5","tags":["x"]}`, "c": `{"site":"south","url":"http://c"}`,
		"d": `{"Site":"north","floor":null}`, "plain": `null`,
	} {
		if r := s.send(http.MethodPut, "/v1/devices/"+device, `{"type":"sensor","attributes":`+attributes+`}`); r.status != http.StatusOK {
			t.Fatal(r.body)
		}
		lines = append(lines, `{"device":"`+device+`","time":"2026-11-18T11:00:00Z","fields":{"a":1}}`)
	}
	s.write(lines...)
	return s
}

// TestAttributes_SelectDevices checks that every route over many devices selects the same devices by
// attributes.
func TestAttributes_SelectDevices(t *testing.T) {
	s := attributed(t)
	const stream = "/v1/streams/weather/"
	routes := []string{"/v1/devices", "/v1/device-health", stream + "devices", stream + "latest", stream + "counts", stream + "aggregate"}
	for _, c := range []struct {
		attributes []string
		want       string
	}{
		{nil, "a b c d plain"}, {[]string{"site:north"}, "a b"}, {[]string{"site:north", "floor:2.5"}, "a b"}, {[]string{"site:north", "live:true"}, "a"},
		{[]string{"site:north", "site:south"}, ""}, {[]string{"Site:north"}, "d"}, {[]string{"url:http://c"}, "c"}, {[]string{"floor:null"}, ""},
		{[]string{`tags:["x"]`}, ""}, {[]string{"floor:2"}, ""}, {[]string{"site:North"}, ""},
	} {
		for _, route := range routes {
			params := []string{"device_type", "sensor"}
			if strings.HasSuffix(route, "aggregate") {
				params = append(params, "step", "1h")
			}
			for _, a := range c.attributes {
				params = append(params, "attribute", a)
			}
			r := s.get(with(route, params...))
			body := decode[struct{ Devices, Latest, Counts, Buckets any }](r)
			var got []string
			for _, list := range []any{body.Devices, body.Latest, body.Counts, body.Buckets} {
				all, _ := list.([]any) // an answer with counts has the number of devices instead of a list
				for _, one := range all {
					got = append(got, one.(map[string]any)["device"].(string))
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); r.status != http.StatusOK || text != c.want {
				t.Errorf("%s of %v: %d, %q, want %q", route, c.attributes, r.status, text, c.want)
			}
		}
	}
}

// TestAttributes_FollowPages checks lists in pages of one device each, and that a cursor is refused with
// other conditions.
func TestAttributes_FollowPages(t *testing.T) {
	s := attributed(t)
	for _, route := range []string{"/v1/devices", "/v1/streams/weather/devices", "/v1/device-health"} {
		var got []string
		for cursor := ""; ; {
			r := s.get(with(route, "attribute", "site:north", "limit", "1", "cursor", cursor))
			if cursor == "" {
				got = nil
			}
			got = append(got, names(r))
			next := decode[wire.DeviceList](r).Next
			if cursor = next; cursor == "" {
				break
			}
			if r := s.get(with(route, "attribute", "site:south", "limit", "1", "cursor", cursor)); r.status < 400 || r.status > 499 {
				t.Errorf("%s: a cursor of other conditions: %d %s", route, r.status, r.body)
			}
		}
		if strings.Join(got, ",") != "a,b" {
			t.Errorf("%s in pages: %q", route, got)
		}
	}
}

func TestAttributes_NameMistakes(t *testing.T) {
	s := attributed(t)
	for _, route := range []string{"/v1/devices", "/v1/device-health", "/v1/streams/weather/devices", "/v1/streams/weather/latest", "/v1/streams/weather/counts"} {
		for _, text := range []string{"north", ":north", "site:"} {
			s.get(with(route, "attribute", text)).problem(http.StatusBadRequest, "query.attribute", "as in site:north")
		}
		s.get(with(route, slices.Repeat([]string{"attribute", "a:b"}, 17)...)).problem(http.StatusBadRequest, "query.attribute", "use at most 16")
	}
	s.get(with("/v1/streams/weather/counts", "devices", "a", "attribute", "site:north")).problem(http.StatusBadRequest, "query.devices", "excludes status, device_type and attribute")
	s.get(with("/v1/streams/weather/devices/a/latest", "attribute", "site:north")).problem(http.StatusBadRequest, "query.attribute", "unknown parameter")
}

// TestClient_SelectsByAttribute checks each call of the Go client that selects devices.
func TestClient_SelectsByAttribute(t *testing.T) {
	s := attributed(t)
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, attributes := t.Context(), []string{"site:north", "live:true"}
	list, err := c.SelectDevices(ctx, client.DeviceQuery{Attributes: attributes}, client.List{})
	if err != nil || len(list.Devices) != 1 || list.Devices[0].Device != "a" {
		t.Errorf("devices: %+v, %v", list, err)
	}
	health, err := c.DeviceHealth(ctx, client.HealthQuery{Attributes: attributes}, client.List{})
	if err != nil || health.Total != 1 {
		t.Errorf("health: %+v, %v", health, err)
	}
	devices, err := c.StreamDevices(ctx, "weather", client.DeviceQuery{Attributes: attributes}, client.List{})
	if err != nil || len(devices.Devices) != 1 {
		t.Errorf("devices of a stream: %+v, %v", devices, err)
	}
	latest, err := c.LatestPage(ctx, client.LatestQuery{Stream: "weather", Attributes: attributes})
	if err != nil || len(latest.Latest) != 1 {
		t.Errorf("latest: %+v, %v", latest, err)
	}
	counts, err := c.Counts(ctx, client.CountQuery{Stream: "weather", Attributes: attributes})
	if err != nil || counts.Devices != 1 {
		t.Errorf("counts: %+v, %v", counts, err)
	}
	buckets, err := c.Aggregate(ctx, client.AggregateQuery{Stream: "weather", Step: "1h", Attributes: attributes})
	if err != nil || len(buckets.Buckets) != 1 {
		t.Errorf("aggregate: %+v, %v", buckets, err)
	}
}
