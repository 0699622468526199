package rotator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

const (
	// maxExpireGap is the longest time between two recorded passes; a pass is a call of trustedTime. After
	// a longer time, the clock may have been set forward, and deletions wait for the grace.
	maxExpireGap = 3 * 24 * time.Hour
	// minExpireGap is the shortest time between two recorded passes. An earlier pass does not advance
	// the deletions, because the clock of a process that just restarted may still be wrong.
	minExpireGap = 12 * time.Hour
	// maxExpireStep is the longest time by which a recorded pass advances the deletions. If the
	// clock is wrong by a longer time, the deletions advance further only if it is still wrong in the
	// next recorded pass.
	maxExpireStep = 25 * time.Hour
)

// expireKey is the key of the item with the state of expireGuard.
var expireKey = store.Key{PK: "ROTATOR", SK: "EXPIRE"}

// Attributes of the item. Times are in seconds since 1970.
const (
	attrPolicy  = "policy"  // JSON of expirePolicy
	attrSince   = "since"   // time of the last pass that distrusted the policy or the clock
	attrSeen    = "seen"    // time of the last recorded pass
	attrTrusted = "trusted" // time that the last recorded pass trusted
)

// expirePolicy is the part of the policy that decides when readings are deleted.
type expirePolicy struct {
	Prefix  string
	Classes []retention.Class
	Streams map[string]retention.Stream
}

// deletesNoMore reports whether the policy p deletes no reading sooner than an earlier policy. It
// returns false for a new class or another prefix, because existing tables with that class or prefix may
// contain readings that were never deleted.
func (p *expirePolicy) deletesNoMore(earlier *expirePolicy) bool {
	is, was := retention.Policy{Classes: p.Classes, Streams: p.Streams}, retention.Policy{Classes: earlier.Classes, Streams: earlier.Streams}
	if p.Prefix != earlier.Prefix {
		return false
	}
	streams := []string{""}
	streams = slices.AppendSeq(streams, maps.Keys(p.Streams))
	streams = slices.AppendSeq(streams, maps.Keys(earlier.Streams))
	for _, c := range p.Classes {
		if !slices.ContainsFunc(earlier.Classes, func(e retention.Class) bool { return e.Name == c.Name }) {
			return false
		}
		for _, stream := range streams {
			if is.RetentionOf(stream, c.Name) < was.RetentionOf(stream, c.Name) {
				return false
			}
		}
	}
	return true
}

// expireGuard is the state from which trustedTime decides whether to trust the policy and the
// clock.
type expireGuard struct {
	policy               expirePolicy
	since, seen, trusted time.Time
}

// next returns the state after a pass of the rotator at the time "now" with the policy p.
func (g *expireGuard) next(p expirePolicy, now time.Time) *expireGuard {
	gap := now.Sub(g.seen)
	switch n := (expireGuard{policy: p, since: g.since, seen: now}); {
	case !p.deletesNoMore(&g.policy) || gap < 0 || gap > maxExpireGap:
		return &expireGuard{policy: p, since: now, seen: now, trusted: now}
	case gap < minExpireGap:
		n.seen, n.trusted = g.seen, g.trusted
		return &n
	default:
		n.trusted = g.seen.Add(min(gap, maxExpireStep))
		return &n
	}
}

// trustedTime returns the time at which a reading must have expired so that it may be deleted now. The
// zero time means that no reading may be deleted. Each call counts as a pass.
//
// A deletion cannot be undone. So deletions wait for the grace after a policy began to delete more than
// before. They also wait if the time between two passes was negative or too long. During the
// grace, an operator can correct a wrong clock, or a retention that is too short by mistake. A
// retention that was lengthened applies immediately.
func (r *Rotator) trustedTime(ctx context.Context, now time.Time) (time.Time, error) {
	g, err := r.readExpireGuard(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the retention that applied before: %w", err)
	}
	now = time.Unix(now.Unix(), 0)
	retain := r.opts.Policy.Retention
	n := g.next(expirePolicy{retain.Prefix, retain.Classes, retain.Streams}, now)
	if err := r.writeExpireGuard(ctx, n); err != nil {
		return time.Time{}, fmt.Errorf("record the retention that applies: %w", err)
	}
	if now.Sub(n.since) < r.opts.Policy.Grace {
		return time.Time{}, nil
	}
	return n.trusted, nil
}

// readExpireGuard returns the recorded state, or the zero state if none is recorded. The zero state
// trusts no time.
func (r *Rotator) readExpireGuard(ctx context.Context) (*expireGuard, error) {
	var g expireGuard
	items, err := r.opts.Items.Get(ctx, []store.Key{expireKey}, true)
	if err != nil || len(items) == 0 {
		return &g, err
	}
	attrs := items[0].Attrs
	if err := json.Unmarshal([]byte(attrs[attrPolicy].Text()), &g.policy); err != nil {
		return nil, err
	}
	for name, at := range map[string]*time.Time{attrSince: &g.since, attrSeen: &g.seen, attrTrusted: &g.trusted} {
		sec, ok := attrs[name].Int()
		if !ok {
			return &expireGuard{}, nil
		}
		*at = time.Unix(sec, 0)
	}
	return &g, nil
}

func (r *Rotator) writeExpireGuard(ctx context.Context, g *expireGuard) error {
	data, err := json.Marshal(g.policy)
	if err != nil {
		return err
	}
	return r.opts.Items.Put(ctx, store.Item{Key: expireKey, Attrs: map[string]varve.Value{
		attrPolicy: varve.StringValue(string(data)), attrSince: varve.IntValue(g.since.Unix()),
		attrSeen: varve.IntValue(g.seen.Unix()), attrTrusted: varve.IntValue(g.trusted.Unix()),
	}})
}
