package rollup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestSketch_IsSmall checks that a sketch, which identifies the readings of a partial, has at most 560
// bytes. With three fields, a partial must have at most 1 KB, which is one write unit.
func TestSketch_IsSmall(t *testing.T) {
	for _, c := range []struct{ readings, bytes int }{
		{1, 4}, {4, 16}, {60, 240}, {128, 512}, {129, 480}, {3600, 480}, {36_000, 560},
	} {
		readings, slots := evenly(c.readings, time.Hour, 20_000)
		for at, p := range recounted(t, tally{sketch: &sketch{}}, readings, slots, nil) {
			it := p.items(hourKey(series, at.hour, at.arrival), maxPartBytes)[0]
			size := len("pk") + len(it.PK) + len("sk") + len(it.SK)
			for name, v := range it.Attrs {
				size += len(name) + len(v.String())
			}
			if got := len(p.fingerprints) + len(p.minutes); got != c.bytes || size > 1024 {
				t.Errorf("%d readings: a sketch of %d bytes, want %d; a partial of %d", c.readings, got, c.bytes, size)
			}
		}
	}
}

// TestSketch_IgnoresOrder builds sketches of the same readings in several orders and groups.
// Their texts must be equal and must parse.
func TestSketch_IgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 60, maxFingerprints, maxFingerprints + 1, 3 * maxFingerprints}).Draw(t, "readings")
		var all sketch
		parts := make([]sketch, rapid.IntRange(1, 3).Draw(t, "parts"))
		want := map[int]summary{}
		for i := range n {
			e := entryOf(varve.Position{Time: int64(i) * int64(time.Hour) / int64(n), ID: varve.HashID(uint64(i))})
			all.add(e)
			parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")].add(e)
			m := want[e.minute]
			m.add(summary{1, e.digest})
			m.digest &= 1<<(8*digestBytes) - 1
			want[e.minute] = m
		}
		var merged sketch
		for i := range parts {
			merged.merge(&parts[len(parts)-1-i])
		}
		if merged.fingerprints() != all.fingerprints() || merged.summaries() != all.summaries() {
			t.Fatalf("%d readings: %q %q, in groups %q %q", n, all.fingerprints(), all.summaries(), merged.fingerprints(), merged.summaries())
		}
		prints, err := parseFingerprints(all.fingerprints())
		if n > maxFingerprints {
			minutes, err := parseSummaries(all.summaries())
			if err != nil || fmt.Sprint(minutes) != fmt.Sprint(want) || len(prints) > 0 {
				t.Fatalf("%v, %d fingerprints, %v; want %v", minutes, len(prints), err, want)
			}
		} else if err != nil || len(prints) != n || all.summaries() != "" {
			t.Fatalf("%d readings have %d fingerprints, %v", n, len(prints), err)
		}
	})
}

// TestSketch_DamageFailsRecount damages the sketches of partials. A recount that needs a damaged
// sketch must fail with the name of its partial.
func TestSketch_DamageFailsRecount(t *testing.T) {
	for _, n := range []int{60, maxFingerprints + 1} {
		first, slots := evenly(n, time.Hour, 20_000)
		_, late := evenly(n, time.Hour, 20_040)
		partials := partialSet(recounted(t, tally{sketch: &sketch{}}, first, slots, nil))
		for _, p := range partials {
			prints, minutes := p.fingerprints, p.minutes
			for _, cut := range []int{1, 2, 4} {
				p.fingerprints, p.minutes = prints[:max(0, len(prints)-cut)], minutes[:max(0, len(minutes)-cut)]
				err := newRecount(IgnoreResent, tally{}, late, late, partials).finish(t.Context())
				if err == nil || !strings.Contains(err.Error(), "2024-10-04T00:00:00Z, as of 20241004") {
					t.Errorf("%d readings, %d characters are missing: %v", n, cut, err)
				}
			}
		}
	}
}

// TestDigest_IdentifiesSet checks that a digest does not depend on the order of positions, and
// that positions with different times or ids have different digests.
func TestDigest_IdentifiesSet(t *testing.T) {
	id := func(text string) varve.ID {
		id, err := varve.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	sets := [][]varve.Position{
		{{Time: 1, ID: id("x")}, {Time: 2, ID: id("x")}},
		{{Time: 1, ID: id("x")}, {Time: 3, ID: id("x")}},
		{{Time: 1, ID: id("x")}, {Time: 2, ID: id("y")}},
		{{Time: 1, ID: id("y")}, {Time: 2, ID: id("x")}},
		{{Time: 1, ID: varve.HashID(1)}, {Time: 2, ID: varve.HashID(2)}},
		{{Time: 2, ID: varve.HashID(1)}, {Time: 1, ID: varve.HashID(2)}},
		{{Time: 1, ID: varve.HashID(2)}},
		{},
	}
	seen := map[uint64]int{}
	for i, set := range sets {
		var up, down uint64
		for j := range set {
			up, down = up+digestOf(set[j]), down+digestOf(set[len(set)-1-j])
		}
		if up != down {
			t.Errorf("%v has two digests", set)
		}
		if other, ok := seen[up]; ok {
			t.Errorf("%v has the digest of %v", set, sets[other])
		}
		seen[up] = i
	}
}
