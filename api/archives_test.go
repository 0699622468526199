package api_test

import (
	"net/http"
	"testing"
)

// TestArchiveParameter_IsRefusedWithReason checks that routes which never need archives refuse the
// parameter "archive", and that a query of archives fails if no archive is configured.
func TestArchiveParameter_IsRefusedWithReason(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	for _, path := range []string{
		"/v1/streams/weather/devices/d1/latest", "/v1/streams/weather/latest", "/v1/streams/weather/devices/d1/rollups?period=daily", "/v1/streams/weather/counts",
	} {
		separator := "?"
		if path[len(path)-1] == 'y' {
			separator = "&"
		}
		s.get(path+separator+"archive=true").problem(http.StatusBadRequest, "query.archive", "only for readings and aggregates of readings")
	}
	const device = "/v1/streams/weather/devices/d1"
	s.get(device+"/readings?archive=maybe").problem(http.StatusBadRequest, "query.archive", "use true, false or only")
	s.get(device+"/aggregate?step=1h&functions=sum&source=rollups&archive=true").problem(http.StatusBadRequest, "query.archive", "source=rollups includes dropped tables")
	s.get(device+"/readings?archive=only").problem(http.StatusConflict, "", "no archive is configured: set archive.kind")
	for _, what := range []string{"/readings?archive=true", "/aggregate?step=1h&archive=true"} {
		s.get(device+what).problem(http.StatusConflict, "", "no archive is configured: omit archive, or set archive.kind")
	}
}
