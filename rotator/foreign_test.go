package rotator_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

// TestRotator_IgnoresForeignTables creates 100,000 foreign tables, many with names similar or equal
// to the names of Varve's tables. In a year of runs, no foreign table may be listed, queried,
// tuned, retired or dropped.
func TestRotator_IgnoresForeignTables(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	w := newWorld(t, time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC))
	foreign := map[string]bool{}
	w.store.before = func(op string, tb grid.Table) error {
		if foreign[tb.Name()] {
			t.Errorf("%s %s, which is foreign", op, tb)
		}
		return nil
	}
	w.start(rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: true, Grace: time.Hour,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 10 * day}}},
	})
	alike := plant(w, foreign, n)
	t.Logf("%d of %d names look just like Varve's", alike, len(foreign))
	if alike < n/100 || len(foreign)-alike < n/10 {
		t.Fatal("too few of one kind")
	}
	year(w, foreign)
	for _, name := range w.mem.Names() {
		delete(foreign, name)
	}
	for name := range foreign {
		t.Errorf("%q was dropped", name)
	}
}

// year runs the rotator every 15 days for about a year. After each run, it writes and reads a
// reading.
func year(w *world, foreign map[string]bool) {
	t, dropped := w.t, 0
	for range 24 {
		w.clock = w.clock.Add(15 * day)
		p, err := w.rotator.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Actions {
			if foreign[a.Table.Name()] {
				t.Errorf("the plan would %s %s", a.Kind, a.Table)
			}
		}
		dropped += p.Counts()[rotator.Drop]
		for _, in := range w.tables() {
			if foreign[in.Name()] && in.Owned {
				t.Errorf("%s is listed as Varve's own", in.Name())
			}
		}
		if _, v := w.write("weather", "dev1", w.clock, 1); v.Outcome != varve.Stored {
			t.Fatalf("write: %s", v)
		}
		if got, _ := w.read("weather", "dev1"); len(got) != 1 {
			t.Fatalf("%d readings", len(got))
		}
		q := query.LatestQuery{Series: series("weather", "dev1"), By: varve.ByArrival, Consistent: true}
		if a, err := w.query.Latest(t.Context(), q); err != nil || !a.Found {
			t.Fatalf("latest: %v %v", a.Found, err)
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped at all")
	}
}

// plant creates n foreign tables. It returns how many of them differ from Varve's tables only by
// the missing owner tag. It omits Varve's own names in 2026 and 2027, because writes to a foreign table
// would fail.
func plant(w *world, foreign map[string]bool, n int) (alike int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for len(foreign) < n {
		month := grid.NewMonth(2024+rng.IntN(4), time.Month(1+rng.IntN(12)))
		ranges := w.policy.Grid.Ranges(month)
		own := grid.Table{Prefix: "varve", Range: ranges[rng.IntN(len(ranges))], Month: month}.Name()
		name := distort(rng, own)
		for rng.IntN(3) == 0 {
			name = distort(rng, name)
		}
		tb, ok := grid.Parse(name)
		ours := ok && tb.Prefix == "varve"
		if ours && tb.Month.Year() >= 2026 && tb.Month.Year() <= 2027 || foreign[name] {
			continue
		}
		if ours {
			alike++
		}
		foreign[name] = true
		w.mem.PlantForeign(name)
	}
	return alike
}

func distort(rng *rand.Rand, name string) string {
	const bytes = "_-0123456789aZv. /é\x00\xff"
	at := rng.IntN(len(name) + 1)
	parts := strings.Split(name, "_")
	last := len(parts) - 1
	switch rng.IntN(11) {
	case 0:
		return name[:at] + string(bytes[rng.IntN(len(bytes))]) + name[at:]
	case 1:
		return name[:min(at, len(name)-1)] + name[min(at, len(name)-1)+1:]
	case 2:
		return name[:at] + string(bytes[rng.IntN(len(bytes))]) + name[min(at+1, len(name)):]
	case 3:
		return name + []string{"_backup", "_", " ", "\n", "_00", "-copy"}[rng.IntN(6)]
	case 4:
		return []string{"x", "_", "my-", "varve_", "varve-", " "}[rng.IntN(6)] + name
	case 5:
		parts[0] = []string{"", "VARVE", "varve2", "varve-other", "var", "varve.", strings.Repeat("v", 65)}[rng.IntN(7)]
	case 6: // another range, on the grid or not; 1767571200 is Monday 5 January 2026
		weeks := rng.Int64N(3000)
		start := 1767571200 - weeks*604800 + rng.Int64N(2)*rng.Int64N(604800)
		parts[min(1, last)] = fmt.Sprintf("%010d", start)
	case 7:
		parts[min(1, last)], parts[min(2, last)] = parts[min(2, last)], parts[min(1, last)]
	case 8:
		parts[max(last-1, 0)] = fmt.Sprintf("%02d", rng.IntN(15))
	case 9:
		parts[last] = fmt.Sprintf("%04d", []int{0, 1969, 1970, 2000, 2025, 2031, 9999}[rng.IntN(7)])
	case 10: // other notations of the same number
		i := rng.IntN(len(parts))
		parts[i] = []string{"+", "0", "-", " ", "0x"}[rng.IntN(5)] + strings.TrimPrefix(parts[i], "0")
	}
	return strings.Join(parts, "_")
}
