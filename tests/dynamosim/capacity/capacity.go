// Package capacity models the throughput of a DynamoDB table or index.
//
//	hash of a partition key ── partition ── bucket of 1,000 write and 3,000 read units a second
//	                               │
//	                 table ── bucket of its provisioned or on-demand throughput
//
// A [Throughput] decides when requests are throttled and when partitions are split. [Limits] has
// the numbers, and [Amazon] returns the real ones. The rules, with the pages of Amazon that state
// them:
//
//   - A partition serves at most 3,000 read and 1,000 write units a second, even in a burst (developer
//     guide, "DynamoDB burst and adaptive capacity").
//   - A provisioned table saves up to 300 s of unused units for bursts (the same page).
//   - Adaptive capacity gives a partition any share of the table's units immediately (the same
//     page).
//   - A new on-demand table serves 4,000 writes and 12,000 reads a second. Later, it serves up to
//     double its previous peak, 30 minutes after the peak ("DynamoDB on-demand capacity mode", and
//     the knowledge center on throttled on-demand tables).
//   - Warm throughput can be raised in advance ("Understanding DynamoDB warm throughput").
//   - A table serves at most 40,000 units of each kind ("Quotas in Amazon DynamoDB").
//   - A partition near its limit is split, and partitions are never merged. A hot key gets a
//     partition of its own (AWS Database Blog, "Scaling DynamoDB: How partitions, hot keys, and
//     split for heat impact performance", parts 1 to 3).
//
// Amazon does not document how long a partition must be hot before it is split: SplitAfter is an
// assumption. Here, the items of one partition key are never split. Amazon may split them, but not
// if sort keys only increase, as times do. Splits at 10 GB are not modeled.
//
// [Throughput.Admit] admits a request if its buckets are not empty. [Throughput.Consume] charges
// the request afterward, because its cost is known only then. So a bucket may be negative for a
// moment.
package capacity

import (
	"slices"
	"sync"
	"time"
)

// Kind is the kind of units.
type Kind int

// The kinds of units.
const (
	Read Kind = iota
	Write
)

// Units is a number of units of each kind.
type Units [2]float64

// Limits are the limits of tables and partitions, in units per second.
type Limits struct {
	Partition  Units         // maximum throughput of a partition
	Initial    Units         // maximum throughput of a new on-demand table
	Quota      Units         // maximum throughput of any table
	Burst      time.Duration // how long unused provisioned units are saved
	Growth     time.Duration // time after which an on-demand table can serve double its peak
	SplitAfter time.Duration // how long a partition must be hot before it is split
}

// Amazon returns the limits that Amazon documents, and an assumed SplitAfter.
func Amazon() Limits {
	return Limits{
		Partition: Units{3000, 1000}, Initial: Units{12000, 4000}, Quota: Units{40000, 40000},
		Burst: 300 * time.Second, Growth: 30 * time.Minute, SplitAfter: time.Minute,
	}
}

// Reason is the reason for which a request is throttled, as in Amazon's ThrottlingReason.
type Reason string

// The reasons for which requests are throttled.
const (
	KeyRange    Reason = "KeyRangeThroughputExceeded"
	Provisioned Reason = "ProvisionedThroughputExceeded"
	Account     Reason = "AccountLimitExceeded"
)

// Throughput models the throughput of a table or an index. It is safe for concurrent use.
type Throughput struct {
	limits Limits

	mu         sync.Mutex
	onDemand   bool
	table      [2]bucket
	growth     [2]growth   // for each kind of units, the peaks of an on-demand table
	partitions []partition // ordered by the hashes that they have
	splits     int
}

// NewOnDemand returns the throughput of a new on-demand table.
func NewOnDemand(l Limits, now time.Time) *Throughput {
	t := &Throughput{limits: l, partitions: []partition{{last: ^uint64(0)}}}
	t.SetOnDemand(now)
	return t
}

// NewProvisioned returns the throughput of a new provisioned table.
func NewProvisioned(l Limits, units Units, now time.Time) *Throughput {
	t := &Throughput{limits: l, partitions: []partition{{last: ^uint64(0)}}}
	t.SetProvisioned(units, now)
	return t
}

// SetOnDemand makes a table on-demand. The table can immediately serve at least as much as it was
// provisioned for.
func (t *Throughput) SetOnDemand(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var before Units
	if !t.onDemand {
		before = Units{t.table[Read].rate, t.table[Write].rate}
	}
	t.onDemand = true
	for k := range t.growth {
		t.growth[k].allowed = max(t.growth[k].allowed, t.limits.Initial[k], before[k])
	}
	t.reset(now)
}

// SetProvisioned makes a table provisioned, or changes its provisioned units. Saved units are
// lost.
func (t *Throughput) SetProvisioned(units Units, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onDemand = false
	for k := range t.table {
		burst := max(units[k]*t.limits.Burst.Seconds(), units[k])
		t.table[k] = bucket{rate: units[k], depth: burst, tokens: units[k], at: now}
	}
	t.spread(now)
}

// Warm raises the throughput of an on-demand table in advance, and never lowers it.
func (t *Throughput) Warm(units Units, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.growth {
		t.growth[k].allowed = max(t.growth[k].allowed, units[k])
	}
	if t.onDemand {
		t.reset(now)
	}
}

// reset sets the rate of an on-demand table to the allowed throughput, or to the quota if that is lower.
// It also fills its buckets.
func (t *Throughput) reset(now time.Time) {
	for k := range t.table {
		rate := min(t.growth[k].allowed, t.limits.Quota[k])
		t.table[k] = bucket{rate: rate, depth: rate, tokens: rate, at: now}
	}
	t.spread(now)
}

// spread splits partitions until they can serve the throughput of the table. It splits a single
// partition into equal parts. Of several partitions, it halves the ones that are too wide. It also fills
// the buckets of all partitions.
func (t *Throughput) spread(now time.Time) {
	need := 1
	for k := range t.table {
		for float64(need)*t.limits.Partition[k] < t.table[k].rate {
			need++
		}
	}
	share := ^uint64(0)/uint64(need) + 1 // number of hashes in each partition; 0 if one partition has all
	if len(t.partitions) == 1 && need > 1 {
		firsts := make([]uint64, need)
		for i := range firsts {
			firsts[i] = uint64(i) * share
		}
		t.replace(0, now, firsts...)
	}
	for i := 0; i < len(t.partitions); i++ {
		for p := &t.partitions[i]; need > 1 && p.width() >= share; p = &t.partitions[i] {
			t.replace(i, now, p.first, p.first+p.width()/2+1)
		}
	}
	for i := range t.partitions {
		t.partitions[i].fill(&t.limits, now)
	}
}

// replace splits partition i into parts that begin at the given hashes.
func (t *Throughput) replace(i int, now time.Time, firsts ...uint64) {
	last := t.partitions[i].last
	parts := make([]partition, len(firsts))
	for j, first := range firsts {
		parts[j] = partition{first: first, last: last}
		if j+1 < len(firsts) {
			parts[j].last = firsts[j+1] - 1
		}
		parts[j].fill(&t.limits, now)
	}
	t.partitions = slices.Replace(t.partitions, i, i+1, parts...)
}

func (t *Throughput) find(hash uint64) int {
	i, _ := slices.BinarySearchFunc(t.partitions, hash, func(p partition, hash uint64) int {
		if p.last < hash {
			return -1
		}
		return 1
	})
	return i
}

// Admit returns the reason for which a request is throttled, or "" if it is admitted. The argument
// "hash" is the hash of the request's partition key.
func (t *Throughput) Admit(now time.Time, k Kind, hash uint64) Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.find(hash)
	if p := &t.partitions[i]; !p.buckets[k].hasTokens(now) {
		p.refused = true
		p.sample(hash)
		t.measure(i, now)
		return KeyRange
	}
	t.grow(now)
	if t.table[k].hasTokens(now) {
		return ""
	}
	switch {
	case !t.onDemand:
		return Provisioned
	case t.table[k].rate >= t.limits.Quota[k]:
		return Account
	default:
		return KeyRange
	}
}

// Consume charges an admitted request for the units that it used.
func (t *Throughput) Consume(now time.Time, k Kind, hash uint64, units float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.find(hash)
	p := &t.partitions[i]
	p.buckets[k].charge(now, units)
	p.used[k] += units
	p.sample(hash)
	t.table[k].charge(now, units)
	t.growth[k].add(now, units)
	t.measure(i, now)
}

// grow raises the throughput of an on-demand table when a pending peak is old enough.
func (t *Throughput) grow(now time.Time) {
	if !t.onDemand {
		return
	}
	for k := range t.growth {
		if t.growth[k].applyPeaks(now, t.limits.Growth) {
			t.reset(now)
			return
		}
	}
}

// measure checks a partition once a second, and splits it if it has been hot for long enough.
func (t *Throughput) measure(i int, now time.Time) {
	if !t.partitions[i].endSecond(&t.limits, now) {
		return
	}
	if firsts := t.partitions[i].parts(); len(firsts) > 1 {
		t.replace(i, now, firsts...)
		t.splits++
	}
}

// State describes the current state of a throughput.
type State struct {
	Partitions int
	Splits     int   // number of splits of hot partitions
	Rate       Units // units per second that the table can serve
}

// State returns the current state.
func (t *Throughput) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return State{Partitions: len(t.partitions), Splits: t.splits, Rate: Units{t.table[Read].rate, t.table[Write].rate}}
}
