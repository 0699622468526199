package capacity

import (
	"slices"
	"time"
)

// bucket is a token bucket. The number of tokens may be negative.
type bucket struct {
	rate, depth, tokens float64   // tokens per second, and the maximum and current number of tokens
	at                  time.Time // time at which the bucket has this number of tokens
}

func (b *bucket) refill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.tokens = min(b.tokens+d.Seconds()*b.rate, b.depth)
		b.at = now
	}
}

func (b *bucket) hasTokens(now time.Time) bool {
	b.refill(now)
	return b.tokens > 0
}

func (b *bucket) charge(now time.Time, units float64) {
	b.refill(now)
	b.tokens -= units
}

// growth measures the peaks of an on-demand table, minute by minute.
type growth struct {
	allowed float64 // allowed throughput in units per second
	minute  int64   // current minute, counted from 1970
	sum     float64 // units that the table consumed in the current minute
	pending []peak  // peaks that will raise the throughput later
}

// peak is the mean throughput of a busy minute, in units per second.
type peak struct {
	end  time.Time
	rate float64
}

func (g *growth) add(now time.Time, units float64) {
	if m := now.Unix() / 60; m != g.minute {
		if rate := g.sum / 60; 2*rate > g.allowed {
			g.pending = append(g.pending, peak{time.Unix((g.minute+1)*60, 0), rate})
		}
		g.minute, g.sum = m, 0
	}
	g.sum += units
}

// applyPeaks applies the pending peaks that ended at least the given duration ago. It reports whether
// they raised the allowed throughput.
func (g *growth) applyPeaks(now time.Time, after time.Duration) (raised bool) {
	for len(g.pending) > 0 && now.Sub(g.pending[0].end) >= after {
		raised = raised || 2*g.pending[0].rate > g.allowed
		g.allowed = max(g.allowed, 2*g.pending[0].rate)
		g.pending = g.pending[1:]
	}
	return raised
}

const (
	samples = 64  // number of recent requests whose hashes a partition remembers
	warmth  = 0.8 // a partition is hot at this share of its limit
)

// partition is a range of hashes.
type partition struct {
	first, last uint64 // inclusive
	buckets     [2]bucket

	second  int64           // current second, in Unix time
	used    Units           // units that the partition served in the current second
	refused bool            // whether a request was throttled in the current second
	hot     time.Time       // time since which the partition is hot; zero if it is not hot
	recent  [samples]uint64 // hashes of the last requests
	sampled int             // number of requests so far
}

func (p *partition) width() uint64 { return p.last - p.first }

// fill fills the buckets of a partition with the units of one second.
func (p *partition) fill(l *Limits, now time.Time) {
	for k := range p.buckets {
		p.buckets[k] = bucket{rate: l.Partition[k], depth: l.Partition[k], tokens: l.Partition[k], at: now}
	}
}

func (p *partition) sample(hash uint64) {
	p.recent[p.sampled%samples] = hash
	p.sampled++
}

// endSecond ends the current second if it is over. It returns whether the partition has been hot
// for long enough to be split.
func (p *partition) endSecond(l *Limits, now time.Time) bool {
	second := now.Unix()
	if second == p.second {
		return false
	}
	isHot := p.refused || p.used[Read] >= warmth*l.Partition[Read] || p.used[Write] >= warmth*l.Partition[Write]
	switch {
	case !isHot || second > p.second+1:
		p.hot = time.Time{}
	case p.hot.IsZero():
		p.hot = now
	}
	p.second, p.used, p.refused = second, Units{}, false
	return !p.hot.IsZero() && now.Sub(p.hot) >= l.SplitAfter
}

// parts returns the hashes at which the partitions begin after a split. A hash with more than
// half of the requests gets a partition of its own. Otherwise, each part gets about half of the recent
// requests.
func (p *partition) parts() (firsts []uint64) {
	hashes := slices.Sorted(slices.Values(p.recent[:min(p.sampled, samples)]))
	if len(hashes) == 0 {
		return nil
	}
	median := hashes[len(hashes)/2]
	at, _ := slices.BinarySearch(hashes, median)
	end, _ := slices.BinarySearch(hashes, median+1)
	cuts := []uint64{median}
	if end-at > len(hashes)/2 && median != p.last {
		cuts = append(cuts, median+1)
	}
	firsts = []uint64{p.first}
	for _, cut := range cuts {
		if cut > p.first {
			firsts = append(firsts, cut)
		}
	}
	return firsts
}
