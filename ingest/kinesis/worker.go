package kinesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/lease"
)

const (
	// readPause is the time between two requests for records of a shard. Kinesis allows five a second.
	readPause = 250 * time.Millisecond
	// idlePause is the pause after an answer without records.
	idlePause = time.Second
	// maxRecords is the maximum number of records of a request.
	maxRecords = 5000
)

type worker struct {
	*Consumer
	shard    string
	lease    *lease.Lease
	at       checkpoint
	iterator *string
	stop     context.CancelFunc
	stopping bool // whether shrink has stopped the worker; used only by search and the functions that it calls
	done     chan struct{}
}

func (w *worker) isDone() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// startWorker starts a worker, unless another process has the lease of the shard, or the shard has been
// read to its end.
func (c *Consumer) startWorker(ctx context.Context, shard, start string) error {
	l, err := c.leases.Acquire(ctx, "kinesis/"+c.ledger.stream+"/"+shard)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	at, err := c.ledger.claim(ctx, shard, start, l.Token())
	if err != nil || at.ended {
		return errors.Join(ignoreLost(err), l.Release(ctx))
	}
	reading, stop := context.WithCancel(ctx)
	w := &worker{Consumer: c, shard: shard, lease: l, at: at, stop: stop, done: make(chan struct{})}
	c.workers[shard] = w
	c.running.Go(func() {
		defer func() {
			close(w.done)
			select {
			case c.wake <- struct{}{}:
			default: // another worker has already woken the search for shards
			}
		}()
		w.readShard(reading)
	})
	return nil
}

// ignoreLost returns nil for a lease that another process has taken over.
func ignoreLost(err error) error {
	if errors.Is(err, lease.ErrLost) {
		return nil
	}
	return err
}

// readShard reads the shard to its end, or until ctx ends or the lease is lost. It retries after all
// other errors.
func (w *worker) readShard(ctx context.Context) {
	defer w.stop()
	defer w.opts.Metrics.Forget(w.shard)
	isLost := func(err error) bool { return errors.Is(err, lease.ErrLost) }
	for ctx.Err() == nil && !w.at.ended {
		var empty bool
		err := consumer.Retry(ctx, isLost, w.failed, func() (err error) {
			empty, err = w.readNext(ctx)
			return err
		})
		if err != nil {
			if isLost(err) {
				w.failed(err, 0)
			}
			break
		}
		pause := readPause
		if empty {
			pause = idlePause
		}
		if w.at.ended || consumer.Wait(ctx, pause) != nil {
			break
		}
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := w.lease.Release(releasing); err != nil {
		w.failed(err, 0) // other processes acquire the lease after it expires
	}
}

// readNext reads and stores the next records, and then the checkpoint.
func (w *worker) readNext(ctx context.Context) (empty bool, err error) {
	if err := w.lease.Check(ctx); err != nil {
		return false, err
	}
	if w.iterator == nil {
		if err := w.openIterator(ctx); err != nil {
			return false, err
		}
	}
	in := &kinesis.GetRecordsInput{ShardIterator: w.iterator, Limit: aws.Int32(maxRecords)}
	out, err := w.opts.Client.GetRecords(ctx, in)
	if err != nil {
		w.iterator = nil // the retry opens another iterator, because an iterator is valid for five minutes only
		return false, fmt.Errorf("read shard %s: %w", w.shard, err)
	}
	w.opts.Metrics.Received(w.shard, len(out.Records), time.Duration(aws.ToInt64(out.MillisBehindLatest))*time.Millisecond)
	next := w.at
	if n := len(out.Records); n > 0 {
		next.sequence = aws.ToString(out.Records[n-1].SequenceNumber)
	}
	next.ended = out.NextShardIterator == nil
	if next == w.at {
		w.iterator = out.NextShardIterator
		return true, nil
	}
	if err := w.storeRecords(ctx, out.Records, &next); err != nil {
		return false, err
	}
	w.at, w.iterator = next, out.NextShardIterator
	w.opts.Metrics.Done(len(out.Records))
	return len(out.Records) == 0, nil
}

// storeRecords stores records and then a checkpoint. While the store fails, it retries until the lease
// is lost. If the consumer is closed meanwhile, the records still have the time closeWithin to be
// stored.
func (w *worker) storeRecords(ctx context.Context, list []types.Record, next *checkpoint) error {
	all := make([]records.Record, len(list))
	for i := range list {
		r := &list[i]
		all[i] = records.Record{
			Data: r.Data, From: w.ledger.stream + " " + w.shard + " " + aws.ToString(r.SequenceNumber), At: aws.ToTime(r.ApproximateArrivalTimestamp),
		}
	}
	storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeWithin, cancel) })()
	isLost := func(err error) bool { return errors.Is(err, lease.ErrLost) }
	return consumer.Retry(ctx, isLost, w.failed, func() error {
		return w.whileHeld(storing, func(storing context.Context) error {
			if _, err := w.opts.Receiver.Store(storing, w.grant, w.opts.Target, all); err != nil {
				return err
			}
			return w.ledger.write(storing, next)
		})
	})
}

// whileHeld extends the lease while the function "do" runs, which may take longer than the lease. If the
// lease is lost, whileHeld cancels the context of "do", and fails with lease.ErrLost.
func (w *worker) whileHeld(ctx context.Context, do func(context.Context) error) error {
	if err := w.lease.Check(ctx); err != nil {
		return err
	}
	held, cancel := context.WithCancelCause(ctx)
	var extending sync.WaitGroup
	extending.Go(func() {
		for consumer.Wait(held, leaseTTL/4) == nil {
			// After any other error, the next check retries. The fencing token guards the checkpoint.
			if err := w.lease.Check(held); errors.Is(err, lease.ErrLost) {
				cancel(err)
			}
		}
	})
	err := do(held)
	cancel(nil)
	extending.Wait()
	if cause := context.Cause(held); errors.Is(cause, lease.ErrLost) {
		return cause
	}
	return err
}

// openIterator opens an iterator after the checkpoint. If Kinesis no longer knows the checkpoint, it
// begins with the oldest record.
func (w *worker) openIterator(ctx context.Context) error {
	in := &kinesis.GetShardIteratorInput{ShardId: &w.shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	w.nameStream(&in.StreamName, &in.StreamARN)
	if w.at.sequence != "" {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &w.at.sequence
	}
	out, err := w.opts.Client.GetShardIterator(ctx, in)
	var invalid *types.InvalidArgumentException
	if errors.As(err, &invalid) && w.at.sequence != "" {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeTrimHorizon, nil
		out, err = w.opts.Client.GetShardIterator(ctx, in)
	}
	if err != nil {
		return fmt.Errorf("open shard %s: %w", w.shard, err)
	}
	w.iterator = out.ShardIterator
	return nil
}
