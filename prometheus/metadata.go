package prometheus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve"
)

// Selection selects series by matchers and a window. Series of devices without a live reading in
// the window are excluded.
type Selection struct {
	Tenant string
	Match  []string // selectors; a series must match at least one of them; if empty, all series are selected
	Window varve.Window
	Limit  int // maximum number of results; 0 means no limit
}

// Listed is a list of names or series. Warnings report that the list is not complete.
type Listed[T any] struct {
	Items    []T
	Warnings []string
}

// Labels are the labels of one series.
type Labels = labels.Labels

// AppendLabels appends labels as a JSON object.
func AppendLabels(dst []byte, l Labels) []byte { return appendLabels(dst, l) }

func (l *Listed[T]) truncate(limit int) {
	if limit > 0 && len(l.Items) > limit {
		l.Items = l.Items[:limit]
		l.Warnings = append(l.Warnings, truncatedWarning)
	}
}

// listed is a device in a stream, with its fields in a window.
type listed struct {
	target
	fields []string
}

// list returns the devices in streams whose series match a selection. For each selector, it reads at
// most Options.MaxSeries of them, and adds a warning if others were left out.
func (e *Engine) list(ctx context.Context, s *Selection) (all []listed, warnings []string, err error) {
	sets, err := e.matcherSets(s.Match)
	if err != nil {
		return nil, nil, err
	}
	seen := map[varve.Series]int{}
	for _, matchers := range sets {
		targets, n, err := e.targets(ctx, s.Tenant, matchers, e.opts.MaxSeries)
		if err != nil {
			return nil, nil, failure(err)
		}
		if n > len(targets) {
			warnings = append(warnings, fmt.Sprintf("only %d of %d devices in streams are listed: select a stream or a device, or raise query.max_series", e.opts.MaxSeries, n))
		}
		found := make([]survey, len(targets))
		err = e.forEach(ctx, len(targets), func(ctx context.Context, i int) (err error) {
			found[i], err = e.surveyIn(ctx, targets[i].series, s.Window)
			return err
		})
		if err != nil {
			return nil, nil, failure(err)
		}
		for i := range targets {
			fields := slices.DeleteFunc(slices.Clone(found[i].fields), func(name string) bool { return !matchesField(name, matchers) })
			if selectsLag(matchers) && !found[i].last.IsZero() {
				fields = append(fields, lagMetric)
			}
			if len(fields) == 0 {
				continue
			}
			at, again := seen[targets[i].series]
			if !again {
				seen[targets[i].series] = len(all)
				all = append(all, listed{targets[i], fields})
				continue
			}
			all[at].fields = slices.Compact(slices.Sorted(slices.Values(append(all[at].fields, fields...))))
		}
	}
	return all, warnings, nil
}

// Series returns the labels of the selected series, sorted.
func (e *Engine) Series(ctx context.Context, s Selection) (Listed[Labels], error) {
	all, warnings, err := e.list(ctx, &s)
	out := Listed[Labels]{Items: []Labels{}, Warnings: warnings}
	for i := range all {
		for _, field := range all[i].fields {
			out.Items = append(out.Items, all[i].metric(field))
		}
	}
	slices.SortFunc(out.Items, labels.Compare)
	out.truncate(s.Limit)
	return out, err
}

// LabelNames returns the names of all labels of the selected series.
func (e *Engine) LabelNames(ctx context.Context, s Selection) (Listed[string], error) {
	all, warnings, err := e.list(ctx, &s)
	names := map[string]bool{}
	for i := range all {
		names[nameLabel] = true
		for _, l := range all[i].labels {
			names[l.Name] = true
		}
	}
	return sorted(names, warnings, s.Limit), err
}

// LabelValues returns the values of a label of the selected series.
func (e *Engine) LabelValues(ctx context.Context, label string, s Selection) (Listed[string], error) {
	all, warnings, err := e.list(ctx, &s)
	values := map[string]bool{}
	for i := range all {
		if label == nameLabel { // without Match, the names also include lagMetric, for completion in editors
			for _, field := range all[i].fields {
				values[field] = true
			}
			values[lagMetric] = values[lagMetric] || len(s.Match) == 0
		} else if value := all[i].value(label); value != "" {
			values[value] = true
		}
	}
	maps.DeleteFunc(values, func(_ string, found bool) bool { return !found })
	return sorted(values, warnings, s.Limit), err
}

// sorted returns the elements of a set in order, up to a limit.
func sorted(set map[string]bool, warnings []string, limit int) Listed[string] {
	out := Listed[string]{Items: slices.AppendSeq([]string{}, maps.Keys(set)), Warnings: warnings}
	slices.Sort(out.Items)
	out.truncate(limit)
	return out
}

// WindowOf returns the window between two times, both included. It is limited to the range of event
// times.
func WindowOf(start, end time.Time) varve.Window {
	all := varve.AllTime()
	if start.Before(all.From) {
		start = all.From
	}
	if end.After(all.To) {
		end = all.To
	}
	return windowOf(start.UnixMilli(), end.UnixMilli())
}

// CheckQuery fails if a text is not a PromQL query.
func (e *Engine) CheckQuery(text string) error {
	_, err := e.parse(text)
	return err
}
