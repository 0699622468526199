package writes

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/quote"
)

var writeParams = []string{"precision", "timezone", "device", "columns", "time_column", "device_column", "id_column", "types", "delimiter", "format",
	"name_column", "value_column", "device_columns", "null", "decimal", "bad_cells", "dst", "time", "fields"}

// defaultsOf returns the values that the request sets for readings without their own, and the
// meaning of columns. It also returns whether readings without a time happened at their arrival.
func defaultsOf(r *http.Request, tenant string) (d wire.Defaults, c wire.Columns, arrivalIsTime bool, err error) {
	d = wire.Defaults{Tenant: tenant, Stream: r.PathValue("stream")}
	if err := varve.ValidateName("stream", d.Stream); err != nil && r.URL.Path != "/v1/readings" {
		return d, c, false, varve.InvalidParam("path.stream", "%s", err)
	}
	if r.URL.RawQuery == "" {
		return d, c, false, nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return d, c, false, varve.InvalidParam("query", "%s: write a semicolon as %%3B, as in delimiter=%%3B", err)
	}
	if err := Known(q, writeParams...); err != nil {
		return d, c, false, err
	}
	if _, err := wire.ParsePrecision(q.Get("precision")); err != nil {
		return d, c, false, varve.InvalidParam("query.precision", "%s", err)
	}
	c, arrivalIsTime, err = wire.ParseParams(q, &d)
	return d, c, arrivalIsTime, err
}

// bodyFormat returns the format of a body: from the parameter "format", or else from the header
// Content-Type.
func bodyFormat(r *http.Request, q url.Values) (wire.Format, error) {
	media := r.Header.Get("Content-Type")
	if q.Has("format") {
		f, ok := wire.ParseBodyFormat(q.Get("format"))
		switch {
		case !ok:
			return 0, varve.InvalidParam("query.format", "%s is unknown: use %s", quote.Text(q.Get("format")), wire.BodyFormatNames())
		case unaskedType(r) && ByBrowser(r.Header):
			return 0, Unsupported("Content-Type", "%q from a browser is refused: use %s", media, wire.BodyMediaTypes())
		}
		return f, nil
	}
	f, ok := wire.FormatOf(media)
	if !ok || unaskedType(r) {
		return 0, Unsupported("Content-Type", "%q is not a form of readings: use %s", media, wire.BodyMediaTypes())
	}
	return f, nil
}

// Known rejects parameters that are not among the given names. Otherwise a misspelled parameter would
// be ignored.
func Known(params url.Values, names ...string) error {
	for name := range params {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return varve.InvalidParam("query."+name, "unknown parameter: omit it")
		default:
			return varve.InvalidParam("query."+name, "unknown parameter: use %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// unaskedType reports whether a page of any site can send the content type without a preflight
// request. For the default type of curl, it returns true only if a browser sent the request.
func unaskedType(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return false
	case media == "application/x-www-form-urlencoded":
		return ByBrowser(r.Header)
	default:
		return media == "text/plain" || strings.HasPrefix(media, "multipart/")
	}
}

// ByBrowser reports whether a browser sent the request with the given headers.
func ByBrowser(h http.Header) bool {
	if h.Get("Origin") != "" {
		return true
	}
	for name := range h {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			return true
		}
	}
	return false
}
