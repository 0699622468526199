package rollup

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// correctedRecount returns a recount of n readings over a duration. Half of them are corrected on the
// same day.
func correctedRecount(t testing.TB, n int, over time.Duration) *recount {
	t.Helper()
	list, slots := evenly(n, over, 20_000)
	c := newRecount(IgnoreResent, tally{}, slots, slots, nil)
	for i := range list {
		versions := []uint32{0, 1}[:1+i%2]
		for _, version := range versions {
			r := list[i].Clone()
			r.ID = r.ID.WithVersion(version)
			if err := c.Copy(store.Copy{Reading: &r, First: true, Versioned: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// TestRecount_CorrectionsTakeLinearTime finishes recounts of 30,000 readings. They are spread over an hour,
// over a day, or over 30,000 hours. The time must not grow with the square of the number of readings per
// hour, or of the number of hours. The test tries several times, because other work on the machine may delay
// one of them.
func TestRecount_CorrectionsTakeLinearTime(t *testing.T) {
	const readings = 30_000
	took := func(over time.Duration) time.Duration {
		c := correctedRecount(t, readings, over)
		begin := time.Now()
		if err := c.finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	}
	day, hour, hours := time.Hour, time.Hour, time.Hour
	for try := 0; try == 0 || try < 10 && (hour > 10*day || hours > 100*day); try++ { // each of many hours needs memory
		day, hour, hours = min(day, took(24*time.Hour)), min(hour, took(time.Hour)), min(hours, took(readings*time.Hour))
	}
	t.Logf("one hour takes %s, a day takes %s, %d hours take %s", hour, day, readings, hours)
	if hour > 10*day {
		t.Errorf("one hour takes %s, a day takes %s", hour, day)
	}
	if hours > 100*day {
		t.Errorf("%d hours take %s, a day takes %s", readings, hours, day)
	}
}

// TestRecount_CorrectionsEndWithContext ends a recount whose context was canceled after the last reading.
// The recount must fail.
func TestRecount_CorrectionsEndWithContext(t *testing.T) {
	c := correctedRecount(t, 10, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// windowsSource records the windows that are scanned.
type windowsSource struct{ windows []varve.Window }

func (w *windowsSource) ScanCopies(_ context.Context, _ varve.Series, in varve.Window, _ store.CopyScanner) error {
	w.windows = append(w.windows, in)
	return nil
}

// TestRead_RecountsDayByDay reads roll-ups of three dirty days, now and as of a time. Each day must be
// recounted alone, because a recount holds the corrected readings of its hours in memory.
func TestRead_RecountsDayByDay(t *testing.T) {
	for _, asOf := range []time.Time{{}, Daily.start(20_010)} {
		var source windowsSource
		items := mem.New(func() time.Time { return Daily.start(20_020) })
		var markers []store.Item
		for day := range int64(3) {
			markers = append(markers, dirtyMarker{from: (20_000 + day) * dayHours, hours: dayHours, arrival: 20_003, until: 20_004 * daySeconds}.item(series))
		}
		if err := items.PutAll(t.Context(), markers); err != nil {
			t.Fatal(err)
		}
		q := Query{Series: series, Period: Hourly, Window: varve.AllTime(), AsOf: asOf}
		if _, err := NewReader(items, &source, IgnoreResent).Read(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		want := []varve.Window{daySpan(20_000).window(), daySpan(20_001).window(), daySpan(20_002).window()}
		if !slices.Equal(source.windows, want) {
			t.Errorf("as of %s: scanned %v, want %v", asOf, source.windows, want)
		}
	}
}
