package api

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

func timeFormat(q url.Values) (f wire.TimeFormat, err error) {
	if text := q.Get("precision"); text != "" {
		if f.Precision, err = wire.ParsePrecision(text); err != nil {
			return f, varve.InvalidParam("query.precision", "%s", err)
		}
	}
	if name := q.Get("timezone"); name != "" {
		if f.Location, err = time.LoadLocation(name); err != nil || f.Location == time.Local { // Local is the zone of this machine
			return f, varve.InvalidParam("query.timezone", "%q is unknown: use a name as in Europe/Berlin", name)
		}
	}
	return f, nil
}

// moment parses a time in a query. The time is written as in readings, or as timefmt.ParseRelative accepts
// it, such as now, today, -24h, -1mo or 2026-11. If the result of ParseRelative is outside of varve.AllTime,
// moment returns the nearer end of AllTime. If the parameter is missing, moment returns def.
func moment(q url.Values, name string, f wire.TimeFormat, now time.Time, def time.Time) (time.Time, error) {
	f.Choice = wire.EarlierLocal
	text := q.Get(name)
	if strings.HasPrefix(text, " ") {
		text = "+" + text[1:] // the client did not escape the +, so decoding has made it a space
	}
	if text == "" {
		return def, nil
	}
	zone := f.Location
	if zone == nil {
		zone = time.UTC
	}
	t, ok, err := timefmt.ParseRelative(text, now, zone)
	if err != nil {
		return def, varve.InvalidParam("query."+name, "%s", err)
	}
	if ok {
		return nearestValid(t), nil
	}
	t, v := f.Parse(strings.ReplaceAll(text, " ", "+")) // an unescaped + of a time zone is a blank, too
	if v.Outcome == varve.Rejected {
		if t, v = f.Parse(text); v.Outcome == varve.Rejected {
			return def, varve.InvalidParam("query."+name, "%s", strings.Replace(v.Message, ": send RFC 3339,", ": send now, today, yesterday, a distance as in -24h or -1mo, a month as in 2026-11, RFC 3339,", 1))
		}
	}
	return t, nil
}

// nearestValid returns t, or the nearer end of varve.AllTime if t is outside of it. The nanoseconds
// since 1970 of a later time may not fit an int64.
func nearestValid(t time.Time) time.Time {
	switch all := varve.AllTime(); {
	case t.Before(all.From):
		return all.From
	case t.After(all.To):
		return all.To
	}
	return t
}

func seriesOf(r *http.Request, device string) (varve.Series, error) {
	series := varve.Series{Tenant: tenantOf(r.Context()), Stream: r.PathValue("stream"), Device: device}
	if err := varve.ValidateName("stream", series.Stream); err != nil {
		return series, varve.InvalidParam("path.stream", "%s", err)
	}
	if err := varve.ValidateDevice(device); err != nil {
		return series, varve.InvalidParam("path.device", "%s", err)
	}
	return series, nil
}

// windowOf parses the window of a query: the parameters "from" and "to", or "during".
func windowOf(q url.Values, now time.Time) (w varve.Window, err error) {
	if text := q.Get("during"); text != "" {
		if q.Get("from") != "" || q.Get("to") != "" {
			return w, varve.InvalidParam("query.during", "it stands for from and to: leave it out, or leave those out")
		}
		if w, err = timefmt.ParseWindow(text); err != nil {
			return w, varve.InvalidParam("query.during", "%s", err)
		}
		return w, nil
	}
	f, err := timeFormat(q)
	if err != nil {
		return w, err
	}
	all := varve.AllTime()
	if w.From, err = moment(q, "from", f, now, all.From); err != nil {
		return w, err
	}
	if w.To, err = moment(q, "to", f, now, all.To); err != nil {
		return w, err
	}
	if w.To.Before(w.From) {
		return w, varve.InvalidParam("query.to", "%s is before from, %s", q.Get("to"), q.Get("from"))
	}
	return w, nil
}

// startText returns the text of five parameters as the client sent them: "from", "during", "where",
// "as_of" and "archive". A cursor has a hash of this text, so that it applies only to the same query.
func startText(q url.Values) string {
	text := q.Get("from") + q.Get("during") + strings.Join(q["where"], "\x00")
	if at := q.Get("as_of"); at != "" {
		text += "\x00as_of=" + at
	}
	if archives := q.Get("archive"); archives != "" {
		text += "\x00archive=" + archives
	}
	return text
}

// maxScan is the maximum number of readings that a query compares with its filter.
const maxScan = 1_000_000

const aboutWhere = "only readings that match these conditions, as in temperature>30 and level=error. " +
	"The operators are = != < <= > >=; and joins conditions. Numbers compare exactly. " +
	"Quotes make a string of a number. A reading without the field does not match; repeat it for up to 16 conditions"

// whereOf parses the filter of a query, and the maximum number of readings to compare with it.
func whereOf(q url.Values) (f filter.Filter, scan int, err error) {
	if scan, err = positive(q, "scan_limit", maxScan); err != nil {
		return nil, 0, err
	}
	if f, err = filterOf(q); err != nil {
		return nil, 0, err
	}
	if len(f) == 0 && scan > 0 {
		return nil, 0, varve.InvalidParam("query.scan_limit", "requires where: add it, or omit scan_limit")
	}
	if len(f) > 0 && scan == 0 {
		scan = maxScan
	}
	return f, scan, nil
}

func filterOf(q url.Values) (filter.Filter, error) {
	if !q.Has("where") {
		return nil, nil
	}
	f, err := filter.Parse(q["where"]...)
	if err != nil {
		return nil, varve.InvalidParam("query.where", "%s", err)
	}
	return f, nil
}

func boolean(q url.Values, name string) (bool, error) {
	switch text := q.Get(name); text {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	default:
		return false, varve.InvalidParam("query."+name, "%q is neither true nor false", text)
	}
}

// skipDamaged reports whether the query leaves out damaged rows.
func skipDamaged(q url.Values) (bool, error) {
	switch text := q.Get("damaged"); text {
	case "", "fail":
		return false, nil
	case "skip":
		return true, nil
	default:
		return false, varve.InvalidParam("query.damaged", "%s is neither fail nor skip", quote.Text(text))
	}
}

// positive parses a number from 1 to "most". It returns 0 if the parameter is missing.
func positive(q url.Values, name string, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, varve.InvalidParam("query."+name, "%q is not a whole number from 1 to %d", text, most)
	}
	return n, nil
}

func list(q url.Values, name string) []string {
	var all []string
	for _, text := range q[name] {
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// format returns the format of an answer: from the parameter "format", or else from the header Accept,
// or else JSON.
func format(r *http.Request, q url.Values) (wire.Format, error) {
	if text := q.Get("format"); text != "" {
		f, ok := wire.ParseFormat(text)
		if !ok {
			return 0, varve.InvalidParam("query.format", "%s is unknown: use %s", quote.Text(text), wire.FormatNames())
		}
		return f, nil
	}
	return accepted(strings.Join(r.Header.Values("Accept"), ",")), nil
}

// accepted returns the format with the largest weight (q) in a header Accept. Of several formats with this
// weight, it returns the first one. If the header names no format, it returns JSON.
func accepted(accept string) wire.Format {
	best, most := wire.JSON, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		f, ok := wire.AnswerFormatOf(media)
		if err != nil || !ok {
			continue
		}
		weight := 1.0
		if q := params["q"]; q != "" {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if weight > most {
			best, most = f, weight
		}
	}
	return best
}
