package mqtt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/internal/lanes"
)

// storing is the maximum number of messages that are stored at the same time. These messages share
// one sync of the disk. With a higher maximum, live writes over HTTP would wait for the processors
// during a backlog.
const storing = 16

// queue stores the messages of one connection concurrently, and acknowledges them in order.
type queue struct {
	client *Client
	ctx    context.Context // done when no further message is accepted
	work   context.Context // done when the storing of messages must stop
	abort  context.CancelFunc
	order  chan *entry
	slots  chan struct{} // has an element for each message that is being stored
	failed chan error    // receives the error of the first message that is not stored
	open   atomic.Int64  // number of messages that acknowledge has not processed yet
	linked chan struct{} // closed when link is set
	link   link
	acks   sync.WaitGroup
	lost   atomic.Bool // a message was not stored, so none after it is acknowledged
	cancel context.CancelFunc

	resting sync.Mutex
	pace    *lanes.Pace // pauses a backlog while live writes arrive; guarded by resting
}

// entry is a received message, and the result of its storage.
type entry struct {
	*message
	done chan struct{}
	err  error
}

// newQueue returns the queue of a connection, which accepts messages until ctx ends.
func newQueue(ctx context.Context, c *Client) *queue {
	q := &queue{client: c, order: make(chan *entry, c.opts.Window), slots: make(chan struct{}, storing), failed: make(chan error, 1), linked: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(ctx)
	q.work, q.abort = context.WithCancel(context.WithoutCancel(ctx))
	q.pace = c.opts.Receiver.pace()
	q.acks.Go(q.acknowledge)
	return q
}

// receive accepts a message. It blocks while more than ClientOptions.Window messages are not acknowledged.
func (q *queue) receive(m *message) {
	e := &entry{message: m, done: make(chan struct{})}
	q.open.Add(1)
	select {
	case q.order <- e:
	case <-q.ctx.Done():
		q.open.Add(-1)
		return // the message is not acknowledged, so the broker resends it
	}
	q.client.opts.Metrics.pending.Inc()
	if m.Topic == droppedTopic { // reports are compared with earlier ones, so their order matters
		q.client.drops.report(m.Payload)
		close(e.done)
		return
	}
	go q.process(e)
}

// connected sets the link over which answers are sent.
func (q *queue) connected(l link) {
	q.link = l
	close(q.linked)
}

func (q *queue) process(e *entry) {
	defer close(e.done)
	q.slots <- struct{}{}
	defer func() { <-q.slots }()
	q.yield()
	q.client.noteMessage()
	var result Result
	if result, e.err = q.client.store(q.work, e.message); e.err == nil && e.answerTo != "" {
		q.answer(e.message, &result)
	}
}

// backlogFrom is the number of open messages at which a queue has a backlog.
const backlogFrom = 4 * storing

// yield pauses if the queue has a backlog while live writes arrive. All goroutines of the queue pause at
// the same time, so that the processors are free for the live writes.
func (q *queue) yield() {
	if q.open.Load() < backlogFrom {
		return
	}
	q.resting.Lock()
	defer q.resting.Unlock()
	q.pace.Rest()
}

func (q *queue) answer(m *message, r *Result) {
	select {
	case <-q.linked:
		// If publish fails, the sender does not know that the message is stored, and may resend it.
		_ = q.link.publish(q.work, m.answerTo, answerText(r), m.correlation)
	case <-q.work.Done():
	}
}

// acknowledge acknowledges the messages in the order in which they arrived.
func (q *queue) acknowledge() {
	for {
		var e *entry
		select {
		case e = <-q.order:
		case <-q.work.Done():
			return
		}
		<-e.done
		q.client.opts.Metrics.pending.Dec()
		if e.err != nil && !q.lost.Swap(true) {
			q.failed <- e.err
		}
		if !q.lost.Load() && e.qos > 0 {
			_ = e.ack() // if the connection is lost, the broker resends the message
		}
		q.open.Add(-1)
	}
}

// drainLimit is how long received messages are still stored before a connection is closed.
const drainLimit = 10 * time.Second

// drain stops the acceptance of messages, and waits until the accepted ones are acknowledged. It stops
// waiting after drainLimit, or when the remaining messages can no longer be acknowledged.
func (q *queue) drain(failed <-chan struct{}) {
	q.cancel()
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for q.open.Load() > 0 && !q.lost.Load() {
		select {
		case <-tick.C:
		case <-failed: // the connection has failed, so no message can be acknowledged
			return
		case <-limit.C:
			return
		}
	}
}

// end cancels the storage of messages, and waits until no goroutine of the queue runs.
func (q *queue) end() {
	q.cancel()
	q.abort()
	q.acks.Wait()
	for len(q.order) > 0 {
		<-(<-q.order).done
		q.client.opts.Metrics.pending.Dec()
	}
}
