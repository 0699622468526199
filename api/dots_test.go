package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/store"
)

// TestDevicesOfDots_AreRefused checks that readings of the devices . and .. are rejected, in JSON and in
// line protocol. Such readings must remain readable if they are stored already.
func TestDevicesOfDots_AreRefused(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	for _, name := range []string{".", ".."} {
		body := strings.Replace(good(noon), `"d1"`, `"`+name+`"`, 1)
		r := s.send("POST", writePath, body)
		if a := decode[wire.WriteAnswer](r); r.status != 422 || len(a.Rejects) != 1 || a.Rejects[0].Code != string(varve.CodeDeviceInvalid) {
			t.Errorf("a reading of %s: %d %s, want the code device_invalid", name, r.status, r.body)
		}
		if r := s.send("POST", "/v1/readings", "weather,device="+name+" a=1", "Content-Type", "application/vnd.influx.line-protocol"); !strings.Contains(r.body, "relative path") {
			t.Errorf("a line of %s: %d %s, want it rejected", name, r.status, r.body)
		}
		escaped := strings.ReplaceAll(name, ".", "%2E")
		if r := s.send("PUT", "/v1/devices/"+escaped, "{}", "Content-Type", "application/json"); r.status == 200 || !strings.Contains(r.body, "relative path") {
			t.Errorf("device %s: %d %s, want it refused", name, r.status, r.body)
		}
		stored := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: name}, Time: noon.Add(-time.Second), Arrived: noon,
			Fields: []varve.Field{{Name: "a", Value: varve.IntValue(42)}},
		}
		if v := stored.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		if res := s.store.Write(t.Context(), []store.Batch{{Table: thisTable(s), Readings: []varve.Reading{stored}}}); res[0].Err != nil {
			t.Fatal(res[0].Err)
		}
		if r := s.get("/v1/streams/weather/devices/" + escaped + "/readings"); r.status != http.StatusOK || !strings.Contains(r.body, `"a":42`) {
			t.Errorf("stored readings of %s: %d %s, want a=42", name, r.status, r.body)
		}
	}
}
