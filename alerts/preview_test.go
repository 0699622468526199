package alerts_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/store"
)

// allAlerts returns the parts of alerts that a preview shows, sorted.
func allAlerts(list []alerts.Alert) (all []string) {
	for i := range list {
		a := &list[i]
		all = append(all, fmt.Sprint(a.Device, a.Stream, a.Rule, a.Severity, a.Message, a.Value, a.Since, a.OpenedAt, a.ResolvedAt, a.ResolvedBy, a.Late))
	}
	slices.Sort(all)
	return all
}

// TestPreview_EqualsOpenedAlerts previews a random rule on random readings. Then it adds the rule, and
// resends the readings in another order, so that the rule is evaluated on all of them. The opened alerts must
// equal the previewed ones.
func TestPreview_EqualsOpenedAlerts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var sent []varve.Reading
		for _, device := range []string{"a", "b"} {
			for range rapid.IntRange(0, 40).Draw(rt, "readings") {
				r := valued(rapid.IntRange(0, 60).Draw(rt, "second"), rapid.Int64Range(0, 10).Draw(rt, "value"))
				r.Device = device
				sent = append(sent, r)
			}
		}
		w.advance(time.Duration(rapid.IntRange(0, 2).Draw(rt, "hours late")) * time.Hour)
		w.send(sent...)
		rule := gapped(5, time.Duration(rapid.IntRange(0, 5).Draw(rt, "for"))*time.Second, time.Duration(rapid.IntRange(0, 10).Draw(rt, "gap"))*time.Second)
		rule.Tenant = tenant
		all := varve.Window{From: noon, To: noon.Add(time.Hour)}
		w.items.FailWrites(func(k store.Key) error { return fmt.Errorf("the preview wrote %s %s", k.PK, k.SK) })
		got, err := w.Preview(t.Context(), alerts.PreviewQuery{Rule: rule, Window: all})
		must(t, err)
		w.items.FailWrites(nil)
		w.rule(rule)
		rand.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		w.send(sent...)
		want := w.alerts(alerts.AlertList{State: "", Severity: alerts.Critical})
		if g, w := allAlerts(got.Alerts), allAlerts(want); !slices.Equal(g, w) {
			rt.Fatalf("preview\n%q\nopened\n%q", g, w)
		}
		// A preview of a part of the window has the episodes that touch this part, each as a whole.
		part := varve.Window{From: noon.Add(20 * time.Second), To: noon.Add(40 * time.Second)}
		got, err = w.Preview(t.Context(), alerts.PreviewQuery{Rule: rule, Window: part})
		must(t, err)
		want = slices.DeleteFunc(want, func(a alerts.Alert) bool {
			return !a.Since.Before(part.To) || !a.Open() && a.ResolvedAt.Before(part.From)
		})
		if g, w := allAlerts(got.Alerts), allAlerts(want); !slices.Equal(g, w) {
			rt.Fatalf("part of the preview\n%q\nopened\n%q", g, w)
		}
	})
}

func TestPreview_MeasuresGapAndCounts(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.send(valued(60*i, int64(i)))
	}
	rule := above(20, 0)
	rule.Tenant = tenant
	turns := 0
	got, err := w.Preview(t.Context(), alerts.PreviewQuery{
		Rule: rule, Window: varve.Window{From: noon.Add(-day), To: noon.Add(day)},
		InTurn: func(_ context.Context, do func() error) error {
			turns++
			return do()
		},
	})
	must(t, err)
	if r := got.Rule; r.Gap != 10*time.Minute || !r.GapMeasured || r.Kind != alerts.OnValue || r.ID == "" {
		t.Errorf("rule %+v, want a measured gap of 10m", r)
	}
	if got.Series != 1 || got.Readings != 30 || turns != 1 || len(got.Alerts) != 1 {
		t.Errorf("%d series, %d readings, %d turns, %d alerts; want 1, 30, 1 and 1", got.Series, got.Readings, turns, len(got.Alerts))
	}
	if a := got.Alerts[0]; !a.Since.Equal(noon.Add(21*time.Minute)) || !a.Open() || a.ID != "" {
		t.Errorf("alert %+v", a)
	}
}

func TestPreview_RefusesRules(t *testing.T) {
	w := newWorld(t)
	preview := func(r alerts.Rule, win varve.Window) error {
		r.Tenant = tenant
		_, err := w.Preview(t.Context(), alerts.PreviewQuery{Rule: r, Window: win})
		return err
	}
	all := varve.AllTime()
	invalid(t, preview(alerts.Rule{Kind: alerts.Deadman, For: time.Hour, Severity: alerts.Info}, all), "kind", "no preview")
	bad := above(1, 0)
	bad.Comparison = "~"
	invalid(t, preview(bad, all), "comparison", "unknown")
	invalid(t, preview(above(1, 0), varve.Window{From: noon, To: noon.Add(-1)}), "to", "before")
	many := make([]varve.Reading, 0, alerts.MaxPreviewSeries+1)
	for i := range cap(many) {
		r := valued(0, 1)
		r.Device = fmt.Sprint("d", i)
		many = append(many, r)
	}
	w.send(many...)
	invalid(t, preview(above(1, 0), all), "device", "more than 1000 devices")
}

// TestPreview_BoundsReadings checks that a preview fails if it would read more than a million readings.
func TestPreview_BoundsReadings(t *testing.T) {
	one := valued(1, 9)
	w := newWorld(t, func(o *alerts.Options) { o.Source = endless{o.Source, &one} })
	rule := gapped(5, 0, 0)
	rule.Tenant, rule.Device = tenant, "d"
	_, err := w.Preview(t.Context(), alerts.PreviewQuery{Rule: rule, Window: varve.Window{From: noon, To: noon.Add(day)}})
	invalid(t, err, "from", "more than 1000000 readings")
}

// TestPreview_HasLastAlerts previews a rule that would have opened many alerts of two devices. The
// preview must have the last alerts, and the number of all.
func TestPreview_HasLastAlerts(t *testing.T) {
	w := newWorld(t)
	const each = 2 * alerts.MaxPreviewAlerts
	for _, device := range []string{"a", "b"} {
		readings := make([]varve.Reading, 2*each)
		for i := range readings {
			readings[i] = valued(i, int64(i%2*9))
			readings[i].Device = device
		}
		w.send(readings...)
	}
	rule := gapped(5, 0, 0)
	rule.Tenant = tenant
	got, err := w.Preview(t.Context(), alerts.PreviewQuery{Rule: rule, Window: varve.Window{From: noon, To: noon.Add(day)}})
	must(t, err)
	if got.Total != 2*each || len(got.Alerts) != alerts.MaxPreviewAlerts {
		t.Fatalf("%d of %d alerts, want %d of %d", len(got.Alerts), got.Total, alerts.MaxPreviewAlerts, 2*each)
	}
	for i, a := range got.Alerts {
		device, since := []string{"a", "b"}[i%2], noon.Add(time.Duration(2*each-1-i/2*2)*time.Second)
		if a.Device != device || !a.Since.Equal(since) {
			t.Fatalf("alert %d is of %s, since %s; want %s, %s", i, a.Device, a.Since, device, since)
		}
	}
}

// endless is a source whose series never end.
type endless struct {
	alerts.Source
	one *varve.Reading
}

func (s endless) Read(_ context.Context, _ varve.Series, w varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
	if o == varve.Descending {
		return nil
	}
	r := s.one.Clone()
	for r.Time = w.From; yield(&r); {
		r.Time = r.Time.Add(time.Millisecond)
	}
	return nil
}
