package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestCSV_PreservesNamesOfUsers checks that CSV has the names of devices and fields as users wrote them.
// Each field has a column of its own, as in the CSV of the server.
func TestCSV_PreservesNamesOfUsers(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"device":"pump 1","status":"active","last_seen_at":"2026-01-01T00:00:00Z","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`
		if r.URL.Path != "/v1/devices/pump 1" {
			answer = `{"latest":[{"device":"pump 1","reading":{"time":"2026-01-01T00:00:00Z","id":"1","arrived":"2026-01-01T00:00:01Z",` +
				`"fields":{"hall 1":1,"id":2,"time":3}}}]}`
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	defer h.Close()
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"devices", "get", "pump 1"}, "what,value\ndevice,pump 1\nstatus,active\nlast seen,2026-01-01T00:00:00Z\n" +
			"created,2026-01-01T00:00:00Z\nupdated,2026-01-01T00:00:00Z\n"},
		{[]string{"latest", "weather"}, "device,time,arrived,id,hall 1,fields.id,fields.time\n" +
			"pump 1,2026-01-01T00:00:00Z,2026-01-01T00:00:01Z,1,1,2,3\n"},
	} {
		code, text := runTo(t, append(row.args, "-o", "csv", "--server", h.URL)...)
		if code != exitOK || text != row.want {
			t.Errorf("varve %v: exit code %d, output\n%s\nwant\n%s", row.args, code, text, row.want)
		}
	}
}
