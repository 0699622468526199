package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDevice_IsReadAsWritten checks that a device is read as it was written, and that a second
// write replaces its description. After the store is closed, reads fail as unavailable.
func TestDevice_IsReadAsWritten(t *testing.T) {
	s := newServer(t, nil)
	put := func(device, body string) wire.DeviceBody {
		t.Helper()
		r := s.send(http.MethodPut, "/v1/devices/"+device, body, "Content-Type", "application/json")
		if r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return decode[wire.DeviceBody](r)
	}
	d := put("hall%2F3", `{"name":"Warehouse Temp A","type":"sensor","location":"Hall 3","firmware":"2.1.0","attributes":{"floor":2.50,"n":12345678901234567890}}`)
	if d.Device != "hall/3" || d.Status != "active" || !d.CreatedAt.Equal(noon) || d.LastSeenAt != nil || string(d.Attributes) != `{"floor":2.5,"n":12345678901234567890}` {
		t.Errorf("%+v %s", d, d.Attributes)
	}
	s.advance(time.Minute)
	put("hall%2F3", `{"status":"maintenance","retention":"30d"}`)
	d = decode[wire.DeviceBody](s.get("/v1/devices/hall%2F3"))
	if d.Status != "maintenance" || d.Name != "" || d.Retention != "30d" || !d.CreatedAt.Equal(noon) || !d.UpdatedAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", d)
	}
	s.write(good(noon))
	if err := s.engine.Close(); err != nil { // writes the pending last-seen times
		t.Fatal(err)
	}
	s.get("/v1/devices/hall%2F3").problem(http.StatusServiceUnavailable, "", "closed")
}

func TestDevices_AreListedByStatus(t *testing.T) {
	s := newServer(t, nil)
	for i := range 5 {
		s.send(http.MethodPut, fmt.Sprintf("/v1/devices/d%d", i), `{"status":"`+[]string{"active", "inactive"}[i%2]+`"}`, "Content-Type", "application/json")
	}
	var names []string
	for cursor := ""; ; {
		page := decode[wire.DeviceList](s.get(with("/v1/devices", "status", "active", "limit", "2", "cursor", cursor)))
		for _, d := range page.Devices {
			names = append(names, d.Device)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "d0 d2 d4" {
		t.Error(got)
	}
	if r := s.get("/v1/devices?status=maintenance"); !strings.Contains(r.body, `"devices":[]`) {
		t.Error(r.body)
	}
}

func TestDevices_NameInvalidParameter(t *testing.T) {
	s := newServer(t, nil)
	next := func() string {
		s.send(http.MethodPut, "/v1/devices/a", `{}`, "Content-Type", "application/json")
		s.send(http.MethodPut, "/v1/devices/b", `{}`, "Content-Type", "application/json")
		return decode[wire.DeviceList](s.get("/v1/devices?limit=1")).Next
	}()
	for _, c := range []struct {
		method, path, body string
		status             int
		param, says        string
	}{
		{"GET", "/v1/devices?status=broken", "", 422, "query.status", "maintenance"},
		{"GET", "/v1/devices?limit=0", "", 422, "query.limit", "1"},
		{"GET", "/v1/devices?limit=some", "", 422, "query.limit", "integer"},
		{"GET", "/v1/devices?cursor=x", "", 400, "query.cursor", "not a cursor"},
		{"GET", "/v1/devices?status=active&cursor=" + next, "", 400, "query.cursor", "another list"},
		{"GET", "/v1/devices/nobody", "", 404, "", "nobody"},
		{"DELETE", "/v1/devices/nobody", "", 404, "", "nobody"},
		{"GET", "/v1/devices/%20x", "", 400, "path.device", "space"},
		{"PUT", "/v1/devices/%20x", "{}", 400, "path.device", "space"},
		{"PUT", "/v1/devices/d", `{"status":"broken"}`, 422, "body.status", "maintenance"},
		{"PUT", "/v1/devices/d", `{"color":"red"}`, 422, "body.color", "unexpected"},
		{"PUT", "/v1/devices/d", `{"attributes":[1]}`, 400, "body.attributes", "object"},
		{"PUT", "/v1/devices/d", `{"attributes":{"a":1,"a":2}}`, 400, "body.attributes", "twice"},
		{"PUT", "/v1/devices/d", `{"retention":"soon"}`, 400, "body.retention", "90d"},
		{"PUT", "/v1/devices/d", `{"retention":"2y"}`, 400, "body.retention", "configure a class"},
		{"PUT", "/v1/devices/d", `{"retention":"0s"}`, 400, "body.retention", "omit it"},
	} {
		r := s.send(c.method, c.path, c.body, "Content-Type", "application/json")
		r.problem(c.status, c.param, c.says)
	}
}

// TestDeviceRetention_ExpiresOwnReadings checks that the readings of a device expire after its own
// retention, and the readings of other devices do not.
func TestDeviceRetention_ExpiresOwnReadings(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon), strings.Replace(good(noon), "d1", "d2", 1))
	r := s.send(http.MethodPut, "/v1/devices/d1", `{"retention":"1h"}`, "Content-Type", "application/json")
	if r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	s.advance(59 * time.Minute)
	if got := s.get(latestPath).status; got != http.StatusOK {
		t.Errorf("before its time: %d", got)
	}
	s.advance(time.Minute)
	s.get(latestPath).problem(http.StatusNotFound, "", "expired")
	if n := len(decode[wire.ReadingsBody](s.get(readPath)).Readings); n != 0 {
		t.Errorf("%d readings after their time", n)
	}
	if got := s.get("/v1/streams/weather/devices/d2/latest").status; got != http.StatusOK {
		t.Errorf("another device's: %d", got)
	}
}
