package capacity_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// load sends requests of one unit, spread evenly over the duration d, and returns the number of
// admitted requests. The function "hash" returns the hash for request i.
func load(t *capacity.Throughput, k capacity.Kind, from time.Time, d time.Duration, perSecond int, hash func(i int) uint64) (admitted int) {
	admitted, _ = loadWithReason(t, k, from, d, perSecond, hash)
	return admitted
}

// loadWithReason is like load. It also returns why the last throttled request was throttled.
func loadWithReason(t *capacity.Throughput, k capacity.Kind, from time.Time, d time.Duration, perSecond int, hash func(i int) uint64) (admitted int, last capacity.Reason) {
	n := int(d.Seconds() * float64(perSecond))
	for i := range n {
		now := from.Add(d * time.Duration(i) / time.Duration(n))
		h := hash(i)
		if reason := t.Admit(now, k, h); reason != "" {
			last = reason
			continue
		}
		t.Consume(now, k, h, 1)
		admitted++
	}
	return admitted, last
}

// anywhere returns a function that returns random hashes.
func anywhere() func(int) uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	return func(int) uint64 { return rng.Uint64() }
}

func one(hash uint64) func(int) uint64 { return func(int) uint64 { return hash } }

// checkRate checks the average rate of admitted units. First it subtracts the number of units that
// were saved before, which is the argument "stored". It accepts a difference of 1 % plus one unit
// per second.
func checkRate(t *testing.T, what string, admitted int, d time.Duration, want, stored float64) {
	t.Helper()
	if got := (float64(admitted) - stored) / d.Seconds(); math.Abs(got-want) > want/100+1 {
		t.Errorf("%s: %.1f units/s admitted besides %.0f stored ones, want %.0f", what, got, stored, want)
	}
}

func TestPartition_ServesThousandWritesAndThreeThousandReads(t *testing.T) {
	for k, want := range map[capacity.Kind]float64{capacity.Write: 1000, capacity.Read: 3000} {
		c := capacity.NewProvisioned(capacity.Amazon(), capacity.Units{40000, 40000}, start)
		d := 20 * time.Second
		admitted, reason := loadWithReason(c, k, start, d, 5000, one(7))
		checkRate(t, "one key", admitted, d, want, want)
		if reason != capacity.KeyRange {
			t.Errorf("kind %d: throttled for %q, want %q", k, reason, capacity.KeyRange)
		}
	}
}

func TestProvisioned_SavesUnusedUnitsForFiveMinutes(t *testing.T) {
	c := capacity.NewProvisioned(capacity.Amazon(), capacity.Units{100, 100}, start)
	idle := time.Hour // longer than the five minutes for which the table saves units
	from, d := start.Add(idle), 60*time.Second
	// The 30,000 saved units plus 100 per second last for 60 s at 600 per second.
	if got := load(c, capacity.Write, from, d, 600, anywhere()); got != 600*60 {
		t.Errorf("%d units admitted in the burst, want all of %d", got, 600*60)
	}
	later := from.Add(d)
	admitted, reason := loadWithReason(c, capacity.Write, later, d, 600, anywhere())
	checkRate(t, "after the burst", admitted, d, 100, 0)
	if reason != capacity.Provisioned {
		t.Errorf("throttled for %q, want %q", reason, capacity.Provisioned)
	}
}

// TestProvisioned_GivesOnePartitionTheShareOfOthers checks adaptive capacity. If all requests are
// for one partition, it must get the throughput of the whole table.
func TestProvisioned_GivesOnePartitionTheShareOfOthers(t *testing.T) {
	c := capacity.NewProvisioned(capacity.Amazon(), capacity.Units{400, 400}, start)
	d := 30 * time.Second
	checkRate(t, "one key", load(c, capacity.Write, start, d, 1000, one(7)), d, 400, 400)
}

func TestOnDemand_BeginsWithFourThousandWrites(t *testing.T) {
	c := capacity.NewOnDemand(capacity.Amazon(), start)
	if n := c.State().Partitions; n != 4 {
		t.Errorf("%d partitions, want 4", n)
	}
	d := 20 * time.Second
	checkRate(t, "writes", load(c, capacity.Write, start, d, 10000, anywhere()), d, 4000, 4000)
	c = capacity.NewOnDemand(capacity.Amazon(), start)
	checkRate(t, "reads", load(c, capacity.Read, start, d, 20000, anywhere()), d, 12000, 12000)
}

// TestOnDemand_DoublesPeakAfterHalfAnHour sends 3,500 writes per second for a minute. The table
// must serve double that rate half an hour later, and not before.
func TestOnDemand_DoublesPeakAfterHalfAnHour(t *testing.T) {
	c := capacity.NewOnDemand(capacity.Amazon(), start)
	load(c, capacity.Write, start, 61*time.Second, 3500, anywhere())
	for _, s := range []struct {
		after time.Duration
		want  float64
	}{{20 * time.Minute, 4000}, {34 * time.Minute, 7000}} {
		d := 5 * time.Second
		if got := load(c, capacity.Write, start.Add(s.after), d, 12000, anywhere()); math.Abs(float64(got)/d.Seconds()-s.want*6/5) > s.want/20 {
			t.Errorf("after %s: %d admitted in 5 s, want about %.0f", s.after, got, s.want*6)
		}
	}
}

func TestOnDemand_ServesWarmThroughputUpToQuota(t *testing.T) {
	c := capacity.NewOnDemand(capacity.Amazon(), start)
	c.Warm(capacity.Units{0, 100000}, start)
	d := 5 * time.Second
	admitted, reason := loadWithReason(c, capacity.Write, start, d, 50000, anywhere())
	checkRate(t, "writes", admitted, d, 40000, 40000)
	if reason != capacity.Account {
		t.Errorf("throttled for %q, want %q", reason, capacity.Account)
	}
}

// TestSplit_IsolatesHotKey overloads a partition with requests for a hot key, and some for another
// key. Before the split, the other key must be throttled. After the split, it must not be throttled,
// and the hot key must get the full throughput of a partition.
func TestSplit_IsolatesHotKey(t *testing.T) {
	limits := capacity.Amazon()
	limits.SplitAfter = 10 * time.Second
	c := capacity.NewOnDemand(limits, start)
	const hot, neighbor = 1 << 40, 1<<40 + 1
	both := func(i int) uint64 { return [...]uint64{hot, hot, hot, hot, neighbor}[i%5] }
	throttled := func(from time.Time, d time.Duration) (ofNeighbor, hotAdmitted int) {
		for i := range int(d.Seconds()) * 2000 {
			now := from.Add(time.Duration(i) * time.Second / 2000)
			h := both(i)
			switch reason := c.Admit(now, capacity.Write, h); {
			case reason == "":
				c.Consume(now, capacity.Write, h, 1)
				if h == hot {
					hotAdmitted++
				}
			case h == neighbor:
				ofNeighbor++
			}
		}
		return ofNeighbor, hotAdmitted
	}
	if n, _ := throttled(start, limits.SplitAfter/2); n == 0 {
		t.Error("before the split, the neighbor is never throttled")
	}
	throttled(start.Add(limits.SplitAfter/2), limits.SplitAfter)
	d := 20 * time.Second
	n, admitted := throttled(start.Add(2*limits.SplitAfter), d)
	if n != 0 {
		t.Errorf("after the split, the neighbor is throttled %d times, want never", n)
	}
	if rate := float64(admitted) / d.Seconds(); rate < 990 || rate > 1060 {
		t.Errorf("after the split, the hot key is admitted %.0f times a second, want about 1,000", rate)
	}
	if s := c.State(); s.Splits == 0 || s.Partitions < 5 {
		t.Errorf("state %+v, want a split", s)
	}
}

// TestSplit_HalvesEvenLoad sends requests for many keys of one partition. After splits, all
// requests must be admitted.
func TestSplit_HalvesEvenLoad(t *testing.T) {
	limits := capacity.Amazon()
	limits.SplitAfter = 10 * time.Second
	c := capacity.NewOnDemand(limits, start)
	rng := rand.New(rand.NewPCG(3, 4))
	low := func(int) uint64 { return rng.Uint64() >> 2 } // random hashes in the lowest quarter of all hashes
	d := 5 * time.Second
	checkRate(t, "before", load(c, capacity.Write, start, d, 1800, low), d, 1000, 1000)
	load(c, capacity.Write, start.Add(d), 3*limits.SplitAfter, 1800, low)
	if got := load(c, capacity.Write, start.Add(d+3*limits.SplitAfter), d, 1800, low); got != 1800*5 {
		t.Errorf("after splits: %d admitted, want all of %d", got, 1800*5)
	}
}

func TestSetOnDemand_KeepsProvisionedThroughput(t *testing.T) {
	c := capacity.NewProvisioned(capacity.Amazon(), capacity.Units{100, 9000}, start)
	if n := c.State().Partitions; n != 9 {
		t.Errorf("%d partitions for 9,000 write units, want 9", n)
	}
	c.SetOnDemand(start)
	if got := c.State().Rate[capacity.Write]; got != 9000 {
		t.Errorf("%.0f write units after the change to on-demand, want 9,000", got)
	}
	c.SetProvisioned(capacity.Units{10, 10}, start)
	if n := c.State().Partitions; n != 9 {
		t.Errorf("%d partitions after the decrease, want 9: partitions are never merged", n)
	}
}
