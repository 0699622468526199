package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/reconcile"
	"github.com/varvedb/varve/rollup"
)

// DigestQuery selects the digests of one device. From, To and During are as in a Query.
type DigestQuery struct {
	Stream, Device   string
	Period           string // hourly (also ""), or daily
	From, To, During string
	Receipt          bool // if true, the answer has a signed receipt
}

// Digests returns the number and the digest of a device's readings, by period.
func (c ReadingCalls) Digests(ctx context.Context, q DigestQuery) (wire.DigestsBody, error) {
	v := url.Values{}
	setParams(v, map[string]string{"period": q.Period, "from": q.From, "to": q.To, "during": q.During})
	if q.Receipt {
		v.Set("receipt", "true")
	}
	return getJSON[wire.DigestsBody](ctx, c.connection, request{method: http.MethodGet, path: seriesPath(q.Stream, q.Device, "digests"), query: v})
}

// CompareDigests returns the periods in which a sender and the store differ.
func (c ReadingCalls) CompareDigests(ctx context.Context, stream, device string, post wire.DigestsPost) (wire.DifferencesBody, error) {
	data, err := json.Marshal(post)
	if err != nil {
		return wire.DifferencesBody{}, err
	}
	return getJSON[wire.DifferencesBody](ctx, c.connection, request{
		method: http.MethodPost, path: seriesPath(stream, device, "digests"), header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) { return bytes.NewReader(data), nil },
	})
}

// postDays is the number of days whose hours are compared in one request. The server refuses more than 100,000
// periods.
const postDays = 4000

// MissingHours returns the hours in which the readings of a set and of the store differ. It sends
// requests for the days, and then for the hours of the days that differ, if any. It leaves out
// hours, and whole days, whose stored readings may have expired or were erased. The result "expired"
// is the number of these hours and days. If only a part of a day has expired or was erased,
// MissingHours compares the hours of this day.
func (c ReadingCalls) MissingHours(ctx context.Context, stream, device string, set *reconcile.Set) (hours []time.Time, expired int, err error) {
	days, expired, err := c.differing(ctx, stream, device, rollup.Daily, set.Spans(rollup.Daily, nil))
	if err != nil {
		return nil, 0, err
	}
	for some := range slices.Chunk(days, postDays) {
		differ, n, err := c.differing(ctx, stream, device, rollup.Hourly, set.Spans(rollup.Hourly, some))
		if err != nil {
			return nil, 0, err
		}
		hours, expired = append(hours, differ...), expired+n
	}
	return hours, expired, nil
}

// differing returns the periods in which the readings of a set and of the store differ, and the number of periods
// that are left out. It includes days that may have hours without expired or erased readings.
func (c ReadingCalls) differing(ctx context.Context, stream, device string, p rollup.Period, spans []reconcile.Span) (periods []time.Time, expired int, err error) {
	if len(spans) == 0 {
		return nil, 0, nil
	}
	post := wire.DigestsPost{Period: p.String()}
	digests := 0
	for _, s := range spans {
		post.Spans = append(post.Spans, wire.DigestsSpan(s))
		digests += len(s.Digests)
	}
	d, err := c.CompareDigests(ctx, stream, device, post)
	if err != nil {
		return nil, 0, err
	}
	if d.Compared != digests {
		return nil, 0, fmt.Errorf("the answer compares %d periods of %d: check that the address is a Varve server", d.Compared, digests)
	}
	for _, text := range d.Expired {
		if at, err := time.Parse(time.RFC3339, text); p == rollup.Daily && err == nil && at.Add(24*time.Hour).After(d.CompleteFrom) {
			d.Differ = append(d.Differ, text)
		} else {
			expired++
		}
	}
	periods, err = parseTimes(d.Differ)
	return periods, expired, err
}

func parseTimes(texts []string) ([]time.Time, error) {
	var times []time.Time
	for _, text := range texts {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, err
		}
		times = append(times, t)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, nil
}

// ReceiptsKey returns the public key with which the server's receipts are verified.
func (c ReadingCalls) ReceiptsKey(ctx context.Context) (receipts.Key, error) {
	return getJSON[receipts.Key](ctx, c.connection, request{method: http.MethodGet, path: "/v1/receipts/key"})
}

// WriteMissing writes the readings of one series that the store lacks. It resends all readings of the
// hours in which the readings differ, and returns their number. All readings must be normalized.
func (c ReadingCalls) WriteMissing(ctx context.Context, stream, device string, readings []varve.Reading) (sent int, answer wire.WriteAnswer, err error) {
	var set reconcile.Set
	for i := range readings {
		set.Add(&readings[i])
	}
	hours, _, err := c.MissingHours(ctx, stream, device, &set)
	if err != nil {
		return 0, answer, err
	}
	var missing []varve.Reading
	for i := range readings {
		if _, found := slices.BinarySearchFunc(hours, readings[i].Time.Truncate(time.Hour), time.Time.Compare); found {
			missing = append(missing, readings[i])
		}
	}
	if len(missing) == 0 {
		return 0, answer, nil
	}
	answer, err = c.WriteReadings(ctx, stream, missing)
	return len(missing), answer, err
}
