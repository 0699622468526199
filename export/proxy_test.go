package export_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/export"
)

// badProxy is the transport of a proxy. It changes the answers whose paths have a given suffix.
type badProxy struct {
	suffix string
	change func(*http.Response)
}

func (p badProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, p.suffix) {
		return resp, err
	}
	changed := *resp // a copy, because the trailers of the server are added to resp later
	p.change(&changed)
	return &changed, nil
}

// notFound returns a function that replaces an answer by a 404 with a body, as a proxy or another server
// could send it.
func notFound(media, body string) func(*http.Response) {
	return func(r *http.Response) {
		r.StatusCode, r.Header, r.Trailer = http.StatusNotFound, http.Header{"Content-Type": {media}}, nil
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
}

func dropTrailers(r *http.Response) {
	r.Header.Del("Trailer")
	r.Trailer = nil
}

// TestExport_FailsWithBadProxy exports through proxies that answer in place of the server, or that drop
// trailers. The export must fail, because it would lose readings. Through a good proxy, it must succeed.
func TestExport_FailsWithBadProxy(t *testing.T) {
	s := newServer(t)
	s.write(t, 25)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name string
		badProxy
		want string
	}{
		{"good proxy", badProxy{"/readings", func(*http.Response) {}}, ""},
		{"page of a proxy", badProxy{"d/3/readings", notFound("text/html", "no such route")}, "device d/3: not found, but Varve did not answer so"},
		{"problem of another server", badProxy{"/readings", notFound("application/problem+json", `{"detail":"no such route"}`)}, "check --server and proxies"},
		{"code of another server", badProxy{"/readings", notFound("application/json", `{"detail":"none","code":"device_not_found"}`)}, "check --server and proxies"},
		{"readings without trailers", badProxy{"/readings", dropTrailers}, "no trailer Varve-Next: let proxies pass trailers"},
		{"arrivals without trailers", badProxy{"/arrivals", dropTrailers}, "no trailer Varve-Next: let proxies pass trailers"},
	}
	for _, row := range rows {
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport = row.badProxy
		h := httptest.NewServer(proxy)
		c, err := client.New(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
			p, err := export.Run(t.Context(), export.Options{Client: c, Stream: "weather", Dir: t.TempDir(), Format: format, FileReadings: 4})
			switch {
			case row.want == "" && (err != nil || p.Readings != 25 || p.Devices != 3):
				t.Errorf("%s, %s: %+v, %v, want 25 readings of 3 devices", row.name, format, p, err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("%s, %s: %d readings, error %v, want %q", row.name, format, p.Readings, err, row.want)
			}
		}
		h.Close()
	}
}

// TestExport_FindsFilesInAnyFolder exports to a folder whose name is a pattern. The export must remove the
// files of an interrupted run, and refuse a folder with the files of another export.
func TestExport_FindsFilesInAnyFolder(t *testing.T) {
	s := newServer(t)
	dir := filepath.Join(t.TempDir(), "copy[1]")
	o := export.Options{Client: s.Client, Stream: "weather", Dir: dir, Format: export.Parquet, State: filepath.Join(dir, "progress")}
	for range 2 {
		s.write(t, 3)
		if _, err := export.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.write(t, 3)
	old := filepath.Join(dir, "weather-000003.7.parquet")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s of an interrupted run remains: %v", old, err)
	}
	o.State = ""
	if _, err := export.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has files of another export") {
		t.Errorf("another export to the folder: %v", err)
	}
}
