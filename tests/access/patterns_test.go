package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/timefmt"
)

// pattern is an access pattern of docs/access-patterns.md. The function "perform" runs it once. The
// argument i is the number of earlier calls of this function.
type pattern struct {
	id      string
	perform func(t *testing.T, w *world, i int)
}

func during(t *testing.T, s string) varve.Window {
	t.Helper()
	w, err := timefmt.ParseWindow(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// readRange returns a pattern that reads a time range, such as 2026-11, of a series. The argument
// "want" is the expected number of readings.
func readRange(id string, want int, s varve.Series, stretch string, more ...func(*query.Query)) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		q := query.Query{Series: s, Window: during(t, stretch)}
		for _, m := range more {
			m(&q)
		}
		w.read(t, want, q)
	}}
}

func newest(n int) func(*query.Query) {
	return func(q *query.Query) { q.Order, q.Limit = varve.Descending, n }
}

func after(at time.Time) func(*query.Query) {
	r := reading(sensor, at)
	r.Normalize() // sets the id
	from := r.Position()
	return func(q *query.Query) { q.After = &from }
}

func consistent(q *query.Query) { q.Consistent = true }

func since(d time.Duration) func(*query.Query) {
	return func(q *query.Query) {
		q.Window = varve.Window{From: day.Add(24*time.Hour - d), To: day.Add(24 * time.Hour)}
	}
}

func latest(id string, s varve.Series, by varve.By, strong bool) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		a, err := w.Query.Latest(t.Context(), query.LatestQuery{Series: s, By: by, Consistent: strong})
		if err != nil || !a.Found {
			t.Fatalf("found %v: %v", a.Found, err)
		}
	}}
}

func rolled(id string, want int, p rollup.Period, from time.Time, d time.Duration) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		w.rollups(t, want, rollup.Query{Series: sensor, Period: p, Window: varve.Window{From: from, To: from.Add(d)}})
	}}
}

// write returns a pattern that writes n new readings, one per second, beginning at a given time.
func write(id string, s varve.Series, n int, at time.Time) pattern {
	return pattern{id, func(t *testing.T, w *world, i int) {
		readings := make([]varve.Reading, n)
		for j := range readings {
			readings[j] = reading(s, at.Add(time.Duration(i*n+j)*time.Second))
		}
		w.send(t, readings...)
	}}
}

// ofReadings returns the access patterns about readings and roll-ups. In the list, each write comes
// after the reads of its time range, and uses times at which no other pattern writes.
func ofReadings() []pattern {
	return []pattern{
		readRange("AP3", 60, sensor, "2026-11-19T14"),
		latest("AP4", sensor, varve.ByEvent, false),
		rolled("AP7a", 24, rollup.Hourly, day, 24*time.Hour),
		rolled("AP7b", 1, rollup.Daily, day.Add(-6*24*time.Hour), 7*24*time.Hour),

		readRange("1.1", 60, sensor, "2026-11-19T14"),
		readRange("1.2", 1440, sensor, "2026-11-19"),
		readRange("1.3", 1440, sensor, "2026-11"),
		readRange("1.4", 10, sensor, "2026-11", newest(10)),
		readRange("1.5", 100, sensor, "2026-11", func(q *query.Query) { q.Limit = 100 }),
		readRange("1.6", 100, sensor, "2026-11", func(q *query.Query) { q.Limit = 100 }, after(day.Add(99*time.Minute))),
		readRange("1.9", 60, sensor, "2026", since(time.Hour)),
		readRange("1.11", 1440, sensor, "2026", since(7*24*time.Hour)),
		latest("1.12", sensor, varve.ByEvent, false),
		readRange("1.13", 1440, sensor, "2026-11"),
		rolled("1.14", 24, rollup.Hourly, day, 24*time.Hour),

		latest("2.1", sensor, varve.ByEvent, false),
		{"2.2", latestOfHundred},
		readRange("2.3", 1440, sensor, "2026", since(24*time.Hour)),
		readRange("2.4", 0, expired, "2026-09"),
		readRange("2.6", 61, hot, "2026-11-19"),
		latest("2.7", hot, varve.ByEvent, false),
		readRange("2.8", 60, sensor, "2026-11-19T14", consistent),
		latest("2.9", sensor, varve.ByEvent, true),
		latest("2.10", sensor, varve.ByArrival, false),

		readRange("4.3", 15, sensor, "2026-09-10"),

		write("AP8", sensor, 1, noon),
		{"1.7", secondAtOnce},
		{"1.8", sameAgain},
		write("2.5", hot, 1, noon),
		write("2.11", sensor, 25, noon.Add(10*time.Minute)),
		{"2.12", newHours},
		write("4.1", sensor, 1, noon.Add(-time.Hour)),
		write("4.2", sensor, 1, began.Add(3*time.Hour)),
		{"4.4", furtherAtOnce},
		{"4.5", drop},
	}
}

func latestOfHundred(t *testing.T, w *world, _ int) {
	devices := make([]string, 100)
	for i := range devices {
		devices[i] = fmt.Sprintf("d%03d", i)
	}
	answers, err := w.Query.LatestOf(t.Context(), query.LatestQuery{Series: sensor}, devices)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if !a.Found {
			t.Fatalf("%s has no latest reading", a.Series)
		}
	}
}

// secondAtOnce writes a second reading at the time of a stored one. Each call uses another time.
func secondAtOnce(t *testing.T, w *world, i int) {
	w.send(t, valued(sensor, day.Add(time.Hour+time.Duration(i)*time.Minute), 29))
}

// furtherAtOnce writes one more reading per call, always at the same event time.
func furtherAtOnce(t *testing.T, w *world, i int) {
	w.send(t, valued(sensor, day.Add(2*time.Hour), 30+int64(i)))
}

// sameAgain resends a stored reading.
func sameAgain(t *testing.T, w *world, i int) {
	req, err := w.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	verdicts := make([]varve.Verdict, 1)
	r := reading(sensor, day.Add(5*time.Hour+time.Duration(i)*time.Minute))
	if err := req.Write(t.Context(), []varve.Reading{r}, verdicts); err != nil || verdicts[0].Outcome != varve.Duplicate {
		t.Fatalf("%s: %v", verdicts[0], err)
	}
}

// newHours writes the first reading of an hour. Each call uses another hour.
func newHours(t *testing.T, w *world, i int) {
	w.send(t, reading(sensor, day.Add(-time.Duration(i+1)*time.Hour)))
}

func drop(t *testing.T, w *world, i int) {
	if err := w.store.Retire(t.Context(), w.spare[i], noon); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Drop(t.Context(), w.spare[i]); err != nil {
		t.Fatal(err)
	}
}
