package kinesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Attributes of checkpoints and processes.
const (
	attrSequence  = "sequence"
	attrEnded     = "ended"
	attrToken     = "token"
	attrStart     = "start"
	attrHeartbeat = "beat"
)

// processPrefix is the beginning of the sort keys of processes. The id of a shard has no #.
const processPrefix = "process#"

// forgetAfter is how long the item of a process exists after its last heartbeat.
const forgetAfter = 24 * time.Hour

// checkpoint is the progress in a shard of a Kinesis stream. It is an item of the registry.
type checkpoint struct {
	shard    string
	start    string // first sequence number of the shard; in a new stream of the same name, it differs
	sequence string // sequence number of the last durable record; "" if none is durable
	ended    bool   // the shard has been read to its end
	token    int64  // fencing token of the lease
}

// ledger stores the checkpoints of a Kinesis stream, and the processes that read it.
type ledger struct {
	items  store.Items
	stream string
	now    func() time.Time
}

func (l *ledger) key(sk string) store.Key { return store.Key{PK: "KINESIS#" + l.stream, SK: sk} }

// readAll returns the checkpoints by shard, and the numbers in the heartbeats of processes by holder.
func (l *ledger) readAll(ctx context.Context) (map[string]checkpoint, map[string]int64, error) {
	checkpoints, counts := map[string]checkpoint{}, map[string]int64{}
	for it, err := range registry.All(ctx, l.items, store.ItemQuery{PK: l.key("").PK, Consistent: true}) {
		if err != nil {
			return nil, nil, fmt.Errorf("read checkpoints of %s: %w", l.stream, err)
		}
		if holder, ok := strings.CutPrefix(it.SK, processPrefix); ok {
			counts[holder] = registry.Int(it.Attrs[attrHeartbeat])
			continue
		}
		checkpoints[it.SK] = checkpointOf(it)
	}
	return checkpoints, counts, nil
}

func checkpointOf(it *store.Item) checkpoint {
	return checkpoint{
		shard: it.SK, start: it.Attrs[attrStart].Text(), sequence: it.Attrs[attrSequence].Text(), ended: it.Attrs[attrEnded].Bool(), token: registry.Int(it.Attrs[attrToken]),
	}
}

// claim returns the checkpoint of a shard, and marks it with the token of a lease. Later writes with
// older tokens fail. The checkpoint of an older stream of the same name is replaced.
func (l *ledger) claim(ctx context.Context, shard, start string, token int64) (checkpoint, error) {
	items, err := l.items.Get(ctx, []store.Key{l.key(shard)}, true)
	if err != nil {
		return checkpoint{}, fmt.Errorf("read checkpoint of %s: %w", shard, err)
	}
	c, cond := checkpoint{shard: shard, start: start}, store.IfAbsent()
	if len(items) > 0 {
		old := checkpointOf(&items[0])
		cond = store.IfEquals(attrToken, varve.IntValue(old.token))
		if old.start == start {
			c = old
		}
	}
	c.token = token
	return c, l.put(ctx, &c, cond)
}

// write stores a checkpoint. It fails with lease.ErrLost if another process has claimed the shard.
func (l *ledger) write(ctx context.Context, c *checkpoint) error {
	return l.put(ctx, c, store.IfEquals(attrToken, varve.IntValue(c.token)))
}

func (l *ledger) put(ctx context.Context, c *checkpoint, cond store.Cond) error {
	attrs := map[string]varve.Value{attrToken: varve.IntValue(c.token), attrEnded: varve.BoolValue(c.ended)}
	registry.PutText(attrs, attrSequence, c.sequence)
	registry.PutText(attrs, attrStart, c.start)
	err := l.items.Put(ctx, store.Item{Key: l.key(c.shard), Attrs: attrs}, cond)
	if errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("checkpoint of %s: %w", c.shard, lease.ErrLost)
	}
	if err != nil {
		return fmt.Errorf("write checkpoint of %s: %w", c.shard, err)
	}
	return nil
}

// writeHeartbeat records that a process reads the stream. The number n must differ from the last one.
func (l *ledger) writeHeartbeat(ctx context.Context, holder string, n int64) error {
	err := l.items.Put(ctx, store.Item{
		Key: l.key(processPrefix + holder), Expires: l.now().Add(forgetAfter).Truncate(time.Second),
		Attrs: map[string]varve.Value{attrHeartbeat: varve.IntValue(n)},
	})
	if err != nil {
		return fmt.Errorf("register at %s: %w", l.stream, err)
	}
	return nil
}

// remove deletes the items of processes that ended, and of shards that Kinesis has deleted.
func (l *ledger) remove(ctx context.Context, sortKeys ...string) error {
	if len(sortKeys) == 0 {
		return nil
	}
	keys := make([]store.Key, len(sortKeys))
	for i, sk := range sortKeys {
		keys[i] = l.key(sk)
	}
	return l.items.DeleteAll(ctx, keys)
}
