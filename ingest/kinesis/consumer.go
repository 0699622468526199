package kinesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// Options configures a Consumer. Conditions and Failed may be nil.
type Options struct {
	Client   *kinesis.Client
	Stream   string // name or ARN of the Kinesis stream
	Items    store.Items
	Holder   string // names this process in leases and heartbeats
	Receiver *records.Receiver
	Target   *records.Target
	Metrics  *consumer.Metrics
	Now      func() time.Time

	Conditions *health.Conditions
	// Failed is called after each failure. The argument "retry" is the time until the next attempt;
	// 0 means that none follows.
	Failed func(err error, retry time.Duration)
	// Every is the time between two searches for shards of the Kinesis stream. 0 means five seconds.
	Every time.Duration
}

const (
	// leaseTTL is the time after which other processes read the shards of a process that was killed.
	leaseTTL = 30 * time.Second
	// silentAfter is how long a process counts as running after its last heartbeat. A process writes a
	// heartbeat at each search. The running processes share the shards.
	silentAfter = 45 * time.Second
	searchEvery = 5 * time.Second
	// closeWithin limits the time for the last writes in Close.
	closeWithin = 10 * time.Second
)

// Consumer reads the shards of a Kinesis stream until Close. Shards and streams of Kinesis are not the
// shards and streams of Varve.
type Consumer struct {
	opts   Options
	ledger ledger
	leases lease.Manager
	grant  *apikeys.Grant
	stop   context.CancelFunc
	done   chan struct{}
	wake   chan struct{} // has an element if a worker has ended

	// Only searchAll and the functions that it calls use these fields.
	workers  map[string]*worker
	observed map[string]observation // last heartbeats of other processes, by holder
	count    int64

	running sync.WaitGroup
}

// observation is the number in a heartbeat of another process, and the time at which this process first
// read that number.
type observation struct {
	count int64
	since time.Time
}

// Start starts a consumer, which connects in the background.
func Start(o Options) *Consumer {
	if o.Failed == nil {
		o.Failed = func(error, time.Duration) {}
	}
	if o.Every == 0 {
		o.Every = searchEvery
	}
	ctx, stop := context.WithCancel(context.Background())
	name := o.Stream[strings.LastIndexByte(o.Stream, '/')+1:]
	c := &Consumer{
		opts: o, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), workers: map[string]*worker{}, observed: map[string]observation{},
		grant:  &apikeys.Grant{Tenant: o.Target.Defaults.Tenant, Scopes: apikeys.Write},
		ledger: ledger{items: o.Items, stream: name, now: o.Now}, count: o.Now().UnixMilli(),
	}
	c.leases.Items, c.leases.Now, c.leases.Holder, c.leases.TTL = o.Items, o.Now, o.Holder, leaseTTL
	go func() {
		defer close(c.done)
		c.searchAll(ctx)
	}()
	return c
}

// Close stops the consumer and releases its leases. Records that were received have the time
// closeWithin to be stored.
func (c *Consumer) Close() {
	c.stop()
	<-c.done
}

// searchAll searches for shards at each tick, and whenever a worker has ended, until ctx ends.
func (c *Consumer) searchAll(ctx context.Context) {
	tick := time.NewTicker(c.opts.Every)
	defer tick.Stop()
	for {
		if err := c.search(ctx); err != nil && ctx.Err() == nil {
			c.failed(err, c.opts.Every)
			c.opts.Conditions.Set(health.KinesisUnreachable, fmt.Sprintf("stream %s: %s", c.ledger.stream, err))
		} else if err == nil {
			c.opts.Conditions.Clear(health.KinesisUnreachable)
		}
		select {
		case <-tick.C:
		case <-c.wake:
		case <-ctx.Done():
			c.leave(ctx)
			return
		}
	}
}

// leave ends the workers, and removes this process from the ledger.
func (c *Consumer) leave(ctx context.Context) {
	for _, w := range c.workers {
		w.stop()
	}
	c.running.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	// Ignore an error: the other processes then notice the missing heartbeats.
	_ = c.ledger.remove(leaving, processPrefix+c.opts.Holder)
}

func (c *Consumer) failed(err error, retry time.Duration) {
	c.opts.Metrics.Failed()
	c.opts.Failed(err, retry)
}

// search writes the heartbeat of this process. Then it ends workers beyond the share of this process, and
// starts workers for readable shards up to the share. It also removes old checkpoints.
func (c *Consumer) search(ctx context.Context) error {
	for shard, w := range c.workers {
		if w.isDone() {
			delete(c.workers, shard)
		}
	}
	shards, err := c.listShards(ctx)
	if err != nil {
		return err
	}
	c.count++
	if err := c.ledger.writeHeartbeat(ctx, c.opts.Holder, c.count); err != nil {
		return err
	}
	checkpoints, counts, err := c.ledger.readAll(ctx)
	if err != nil {
		return err
	}
	readable := readableShards(shards, checkpoints)
	processes := c.countProcesses(counts)
	share := (len(readable) + processes - 1) / processes
	c.shrink(shards, share)
	for _, shard := range readable {
		if len(c.workers) >= share {
			break
		}
		if c.workers[shard] == nil {
			if err := c.startWorker(ctx, shard, startOf(shards, shard)); err != nil {
				return err
			}
		}
	}
	return c.removeOld(ctx, shards, checkpoints)
}

// shrink ends workers beyond the share of this process, and workers of shards that Kinesis no longer
// lists.
func (c *Consumer) shrink(shards []types.Shard, share int) {
	left := 0
	for shard, w := range c.workers {
		if w.stopping {
			continue
		}
		if left++; left > share || startOf(shards, shard) == "" {
			w.stopping = true
			w.stop()
		}
	}
}

// startOf returns the first sequence number of a shard, or "" if Kinesis does not list the shard.
func startOf(shards []types.Shard, id string) string {
	for i := range shards {
		if r := shards[i].SequenceNumberRange; aws.ToString(shards[i].ShardId) == id && r != nil {
			return aws.ToString(r.StartingSequenceNumber)
		}
	}
	return ""
}

// countProcesses returns the number of processes that read the stream, this one included. A process
// counts until its heartbeat has not changed for silentAfter, by the clock of this process.
func (c *Consumer) countProcesses(counts map[string]int64) int {
	now, n := c.opts.Now(), 1
	for holder, count := range counts {
		if holder == c.opts.Holder {
			continue
		}
		was, ok := c.observed[holder]
		if !ok || was.count != count {
			was = observation{count, now}
			c.observed[holder] = was
		}
		if now.Sub(was.since) < silentAfter {
			n++
		}
	}
	return n
}

// listShards returns all shards that Kinesis has, open and closed.
func (c *Consumer) listShards(ctx context.Context) (all []types.Shard, err error) {
	in := &kinesis.ListShardsInput{}
	c.nameStream(&in.StreamName, &in.StreamARN)
	for {
		out, err := c.opts.Client.ListShards(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list shards of %s: %w", c.ledger.stream, err)
		}
		all = append(all, out.Shards...)
		if aws.ToString(out.NextToken) == "" {
			return all, nil
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken} // a request with a token must not name the stream
	}
}

func (c *Consumer) nameStream(name, arn **string) {
	if strings.HasPrefix(c.opts.Stream, "arn:") {
		*arn = &c.opts.Stream
	} else {
		*name = &c.opts.Stream
	}
}

// readableShards returns the shards that have not been read to their ends, but whose parents have
// been. A parent that Kinesis no longer lists has expired, and does not delay its children.
func readableShards(shards []types.Shard, checkpoints map[string]checkpoint) (ids []string) {
	listed := map[string]bool{}
	for i := range shards {
		listed[aws.ToString(shards[i].ShardId)] = true
	}
	hasEnded := func(id string) bool { return checkpoints[id].ended && checkpoints[id].start == startOf(shards, id) }
	isOpen := func(parent *string) bool {
		id := aws.ToString(parent)
		return id != "" && listed[id] && !hasEnded(id)
	}
	for i := range shards {
		s := &shards[i]
		if id := aws.ToString(s.ShardId); !hasEnded(id) && !isOpen(s.ParentShardId) && !isOpen(s.AdjacentParentShardId) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// removeOld removes the checkpoints of shards that Kinesis no longer lists.
func (c *Consumer) removeOld(ctx context.Context, shards []types.Shard, checkpoints map[string]checkpoint) error {
	var old []string
	for id := range checkpoints {
		if startOf(shards, id) == "" && c.workers[id] == nil {
			old = append(old, id)
		}
	}
	return c.ledger.remove(ctx, old...)
}
