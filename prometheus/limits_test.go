package prometheus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/prometheus"
)

// TestQueries_AreBounded checks that long texts and many selectors are refused before they are parsed. A
// query may have 5000 tokens. Without this limit, a nested query of a few megabytes would occupy a
// processor and gigabytes of memory, and no time limit would end it.
func TestQueries_AreBounded(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	signs := func(n int) string { return strings.Repeat("-", n) + `{device="d"}` }
	parentheses := func(n int) string { return strings.Repeat("(", n/2) + "1" + strings.Repeat(")", n/2) }
	for name, nested := range map[string]func(n int) string{"signs": signs, "parentheses": parentheses} {
		query := prometheus.Query{Tenant: varve.DefaultTenant, Text: nested(4900), Start: noon}
		r, err := w.promql.Evaluate(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %.300s", name, err.Error())
		}
		r.Close()
		query.Text = nested(5200)
		_, err = w.promql.Evaluate(t.Context(), query)
		for _, err := range []error{err, w.promql.CheckQuery(query.Text)} {
			if err == nil || !strings.Contains(err.Error(), "send a shorter one") {
				t.Errorf("%s: a long query is not refused: %v", name, err != nil)
			}
		}
	}
	for name, match := range map[string][]string{
		"many": slices.Repeat([]string{`{device="d"}`}, 101),
		"long": {`{device="` + strings.Repeat("d", 200<<10) + `"}`},
	} {
		if _, err := w.promql.Series(t.Context(), prometheus.Selection{Tenant: varve.DefaultTenant, Match: match, Window: varve.AllTime()}); err == nil || !strings.Contains(err.Error(), ": send ") {
			t.Errorf("%s selectors are not refused: %v", name, err != nil)
		}
	}
}

func TestRollups_EndWithContext(t *testing.T) {
	if n, err := prometheus.FinishRollups(t.Context(), 100); n != 100 || err != nil {
		t.Errorf("%d samples, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := prometheus.FinishRollups(ctx, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestSelectors_ExplainBound checks that the error of an unbounded selector names the pattern, the
// remedy, the limit and its setting. Lists of names are bounded.
func TestSelectors_ExplainBound(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSeries: 7})
	w.send(reading(t, "a", noon.Add(-time.Minute), "v", "1"))
	const remedy = `add stream="…" or device="…", or a list of names as in device=~"a|b|c"; a selector may match 7 series (query.max_series)`
	for text, want := range map[string]string{
		`v`:                                 "the selector names no stream and no device: " + remedy,
		`v{device=~"a.*"}`:                  `device=~"a.*": not a list of names, so the selector has no bound: ` + remedy,
		`v{stream=~"w.+",type="x"}`:         `stream=~"w.+": not a list of names, so the selector has no bound: ` + remedy,
		`v{device=~"a|b"}`:                  "a 20T12:00:00=1",
		`v{device=~"a.*",stream="weather"}`: "a 20T12:00:00=1",
	} {
		if got, _ := w.ask(prometheus.Query{Text: text, Start: noon}); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
