package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// promParams parses parameters as Prometheus does, with its messages. It records the first error.
type promParams struct {
	form url.Values
	err  error
}

// refuse records the error of a parameter, unless an earlier one is recorded or err is nil.
func (p *promParams) refuse(name string, err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("invalid parameter %q: %w", name, err)
	}
}

// time parses a time in Unix seconds or RFC 3339. For an absent parameter, it returns the argument
// "missing". If "missing" is zero, an absent parameter is an error.
func (p *promParams) time(name string, missing time.Time) time.Time {
	text := p.form.Get(name)
	if text == "" && !missing.IsZero() {
		return missing
	}
	t, err := parsePromTime(text)
	p.refuse(name, err)
	return t
}

// The earliest and the latest time. Prometheus' clients send them for open ranges.
var (
	promMinTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	promMaxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

func parsePromTime(text string) (time.Time, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) {
		seconds, part := math.Modf(min(max(f, float64(promMinTime.Unix())), float64(promMaxTime.Unix())))
		part = math.Round(part*1000) / 1000
		return time.Unix(int64(seconds), int64(part*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	switch text {
	case promMinTime.Format(time.RFC3339Nano):
		return promMinTime, nil
	case promMaxTime.Format(time.RFC3339Nano):
		return promMaxTime, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// duration parses a duration: a number of seconds, or a text such as 5m.
func (p *promParams) duration(name string) time.Duration {
	d, err := parsePromDuration(p.form.Get(name))
	p.refuse(name, err)
	return d
}

func parsePromDuration(text string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		ns := f * float64(time.Second)
		if math.IsNaN(ns) || ns > math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// limit returns the maximum number of results; 0 means no limit.
func (p *promParams) limit() int {
	text := p.form.Get("limit")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 0 {
		err = errors.New("limit must be non-negative")
	}
	p.refuse("limit", err)
	return n
}

// lookback returns the look-back of a query; 0 means the default.
func (p *promParams) lookback() time.Duration {
	text := p.form.Get("lookback_delta")
	if text == "" {
		return 0
	}
	d, err := parsePromDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q is negative: use a positive duration, or omit the parameter", text)
	}
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("error parsing lookback delta duration: %w", err)
	}
	return d
}

// timeout returns a context that ends after the time in the parameter "timeout". Without this parameter,
// it returns ctx.
func (p *promParams) timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.form.Get("timeout") == "" {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, p.duration("timeout"))
}
