package sqs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/records"
)

// Options configures a Consumer. Conditions and Failed may be nil.
type Options struct {
	Client    *sqs.Client
	Queue     string // URL of the queue
	Receivers int    // number of concurrent requests for messages
	Receiver  *records.Receiver
	Target    *records.Target
	Metrics   *consumer.Metrics
	Now       func() time.Time

	Conditions *health.Conditions
	// Failed is called after each failure. The argument "retry" is the time until the next attempt;
	// 0 means that none follows.
	Failed func(err error, retry time.Duration)
}

const (
	// pollSeconds is the time for which a request waits for messages: the longest that SQS allows.
	pollSeconds = 20
	// maxMessages is the maximum number of messages of a request.
	maxMessages = 10
	// storeWithin limits the time for the last writes in Close.
	storeWithin = 20 * time.Second
)

// Consumer receives messages until Close.
type Consumer struct {
	opts  Options
	grant *apikeys.Grant
	name  string // name of the queue
	stop  context.CancelFunc
	done  sync.WaitGroup
	// While a receiver cannot store its messages, the other receivers request no messages.
	outages outages
}

// Start starts a consumer, which connects in the background.
func Start(o Options) *Consumer {
	if o.Failed == nil {
		o.Failed = func(error, time.Duration) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Consumer{opts: o, stop: stop, name: path.Base(o.Queue)}
	c.grant = &apikeys.Grant{Tenant: o.Target.Defaults.Tenant, Scopes: apikeys.Write}
	for range o.Receivers {
		c.done.Go(func() { c.receiveAll(ctx) })
	}
	return c
}

// Close stops the consumer. Received messages have the time storeWithin to be stored and deleted.
func (c *Consumer) Close() {
	c.stop()
	c.done.Wait()
}

func (c *Consumer) receiveAll(ctx context.Context) {
	for ctx.Err() == nil {
		var list []types.Message
		err := c.retry(ctx, func() (err error) {
			if err := c.outages.wait(ctx); err != nil {
				return err
			}
			list, err = c.receive(ctx)
			return err
		})
		if err == nil && len(list) > 0 {
			c.storeMessages(ctx, list)
		}
	}
}

func (c *Consumer) retry(ctx context.Context, do func() error) error {
	return consumer.Retry(ctx, func(error) bool { return false }, func(err error, pause time.Duration) {
		c.opts.Metrics.Failed()
		c.opts.Failed(err, pause)
	}, do)
}

func (c *Consumer) receive(ctx context.Context) ([]types.Message, error) {
	out, err := c.opts.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &c.opts.Queue, MaxNumberOfMessages: maxMessages, WaitTimeSeconds: pollSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSentTimestamp},
	})
	if err != nil {
		if ctx.Err() == nil {
			c.opts.Conditions.Set(health.SQSUnreachable, fmt.Sprintf("queue %s: %s", c.name, err))
		}
		return nil, fmt.Errorf("receive messages of queue %s: %w", c.name, err)
	}
	c.opts.Conditions.Clear(health.SQSUnreachable)
	oldest := c.opts.Now()
	for i := range out.Messages {
		if at := sentAt(&out.Messages[i]); !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
	}
	c.opts.Metrics.Received("", len(out.Messages), c.opts.Now().Sub(oldest))
	return out.Messages, nil
}

// storeMessages stores messages, and deletes them. It retries while the store fails. Meanwhile the queue
// may deliver the messages to another process, too. Their readings are duplicates then.
func (c *Consumer) storeMessages(ctx context.Context, list []types.Message) {
	all := make([]records.Record, len(list))
	for i := range list {
		m := &list[i]
		all[i] = records.Record{Data: []byte(aws.ToString(m.Body)), From: c.name + " " + aws.ToString(m.MessageId), At: sentAt(m)}
	}
	// If ctx ends meanwhile, because the consumer is closed, the messages can still be stored for the time
	// storeWithin.
	storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(storeWithin, cancel) })()
	isFailing := false
	err := c.retry(ctx, func() error {
		_, err := c.opts.Receiver.Store(storing, c.grant, c.opts.Target, all)
		if err != nil && !isFailing {
			isFailing = true
			c.outages.begin()
		}
		return err
	})
	if isFailing {
		c.outages.end()
	}
	if err != nil {
		return // ctx has ended; the queue delivers the messages again after their visibility time-out
	}
	if err := c.remove(storing, list); err != nil {
		c.opts.Metrics.Failed()
		c.opts.Failed(err, 0)
	}
}

// remove deletes messages. A message that could not be deleted is received once more, and its readings
// are duplicates then.
func (c *Consumer) remove(ctx context.Context, list []types.Message) error {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(list))
	for i := range list {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: list[i].ReceiptHandle}
	}
	out, err := c.opts.Client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &c.opts.Queue, Entries: entries})
	if err != nil {
		return fmt.Errorf("delete messages of queue %s: %w", c.name, err)
	}
	c.opts.Metrics.Done(len(out.Successful))
	var failed []error
	for _, f := range out.Failed {
		failed = append(failed, fmt.Errorf("delete a message of queue %s: %s: %s", c.name, aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	return errors.Join(failed...)
}

// sentAt returns the time at which a message was sent to the queue, or the zero time.
func sentAt(m *types.Message) time.Time {
	ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
