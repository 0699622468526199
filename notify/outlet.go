package notify

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/alerts"
)

const (
	// mostJobs is the maximum number of messages in a batch for one notifier.
	mostJobs = 256
	// parallel is the number of devices whose messages a notifier sends concurrently.
	parallel = 8
	// mostFaults is the number of consecutive failures after which the rest of a batch is postponed.
	mostFaults = 8
	// blockingAttempts is the number of failed attempts after which a message no longer delays
	// later messages about other alerts of its device. It always delays later messages about its
	// own alert.
	blockingAttempts = 5
	// mostRefreshed is the maximum number of messages in one call of Refresher.Refresh. It keeps the
	// requests small, because proxies often refuse more than 1 MB.
	mostRefreshed = 100
	// sendTimeout limits one attempt to send or to refresh.
	sendTimeout = 10 * time.Second
)

// outlet is a target, and the state of sending to it.
type outlet struct {
	Target
	busy      bool      // a batch is being sent
	paused    time.Time // end of the last pause that the receiver asked for
	refreshed time.Time // when the messages that are due for a refresh were last listed
}

// job is a message to send, and the deliveries that it completes.
type job struct {
	message *Message
	parts   []part
	device  string // tenant and device; empty for a digest
	err     error  // result of Send, if tried
	tried   bool   // false if the batch ended before an attempt
}

type part struct {
	*delivery
	of *work
}

// works returns the alerts of a batch.
func (r *batchResult) works(yield func(*work) bool) {
	seen := map[*work]bool{}
	for _, j := range r.jobs {
		for _, p := range j.parts {
			if !seen[p.of] && !yield(p.of) {
				return
			}
			seen[p.of] = true
		}
	}
}

// batchResult is the result of a batch: jobs after their attempts, or one refresh.
type batchResult struct {
	outlet    *outlet
	resets    int // Sender.resets when the batch began
	jobs      []*job
	refreshed error // result of refreshAll; nil if the batch has jobs
}

// dispatch begins to send due messages to each notifier that is idle.
func (s *Sender) dispatch(ctx context.Context) {
	now := s.opts.Now()
	if s.queues == nil {
		s.queues = formQueues(s.outlets, maps.Values(s.works))
	}
	for _, o := range s.outlets {
		if o.busy || now.Before(o.paused) {
			continue
		}
		q := s.queues[o.Name]
		jobs := append(s.dueDigests(q, now), q.dueJobs(now)...)
		if len(jobs) > mostJobs {
			jobs = jobs[:mostJobs]
		}
		s.begin(ctx, o, jobs)
	}
}

// begin sends jobs in the background. If a refresh is due, it refreshes the receiver instead, and
// leaves the jobs to the next call of dispatch.
func (s *Sender) begin(ctx context.Context, o *outlet, jobs []*job) {
	var send func() batchResult
	if refresh, due := s.dueRefresh(o); due { // a refresh precedes jobs, because jobs may be due at every call
		send = func() batchResult { return batchResult{outlet: o, refreshed: refresh(ctx)} }
	} else if len(jobs) > 0 {
		for _, j := range jobs {
			s.closeDigest(j)
		}
		send = func() batchResult {
			sendAll(ctx, o.Notifier, jobs)
			return batchResult{outlet: o, jobs: jobs}
		}
	}
	if send == nil {
		return
	}
	o.busy = true
	resets := s.resets
	s.sending.Go(func() {
		r := send()
		r.resets = resets
		s.results <- r
	})
}

// sendAll sends jobs. Jobs about one device are sent in order, up to the first one that fails.
// sendAll stops after mostFaults consecutive failures, or when ctx ends.
func sendAll(ctx context.Context, n Notifier, jobs []*job) {
	var faults atomic.Int64
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for first := 0; first < len(jobs); {
		last := first + 1
		for last < len(jobs) && jobs[last].device == jobs[first].device && jobs[first].device != "" {
			last++
		}
		row := jobs[first:last]
		first = last
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for _, j := range row {
				if faults.Load() >= mostFaults || ctx.Err() != nil {
					return
				}
				sendOne(ctx, n, j)
				if j.err != nil {
					faults.Add(1)
					return
				}
				faults.Store(0)
			}
		})
	}
	group.Wait()
}

func sendOne(ctx context.Context, n Notifier, j *job) {
	// Do not cancel an attempt that has begun, because the receiver may act on it. A shutdown waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	j.err, j.tried = n.Send(ctx, j.message), true
}

// finish records the results of a batch. The next call of sendNext begins the next batch.
func (s *Sender) finish(ctx context.Context, r *batchResult) error {
	r.outlet.busy = false
	if r.resets != s.resets || s.held == nil {
		r.jobs = nil
		return nil // the lease was lost: the messages are resent with the same ids, here or by another process
	}
	if r.refreshed != nil {
		s.opts.Failed("notifier "+r.outlet.Name, r.refreshed)
	}
	now := s.opts.Now().UTC()
	changed := map[*record]bool{}
	for _, j := range r.jobs {
		s.applyResult(r.outlet, j, now, changed)
	}
	var list []*record
	for rec := range changed {
		rec.trim()
		list = append(list, rec)
	}
	err := s.held.Check(ctx)
	if err == nil && len(list) > 0 {
		err = s.records.write(ctx, list)
	}
	if err != nil {
		s.resting = now.Add(restFor)
		s.reset() // the records in memory differ from the stored ones
	}
	return err
}

func (s *Sender) applyResult(o *outlet, j *job, now time.Time, changed map[*record]bool) {
	if !j.tried {
		return
	}
	state, text := Delivered, ""
	if j.err != nil {
		state, text = Pending, j.err.Error()
		s.counts.addAttempt(o.Name)
		s.opts.Failed("notifier "+o.Name, j.err)
		j.recordRefusal(now)
		if first := j.parts[0]; hasFailed(j.err, first.Queued, first.Refused, now) {
			state = Failed
		}
		if _, pause := faultOf(j.err); pause > 0 {
			o.paused = now.Add(min(pause, longestPause))
		}
	}
	if state != Pending {
		s.counts.addEnded(o.Name, state)
		s.opts.Ended(o.Name, j.message, j.err)
	}
	if j.message.Type == Digest && state == Pending {
		s.delayDigest(j, now) // a digest may have many deliveries, so its failed attempts are not stored
		return
	}
	for _, p := range j.parts {
		p.Attempts++
		p.State, p.Error = state, text
		if p.Next = now.Add(pauseAfter(p.Attempts)); state != Pending {
			p.Next, p.Ended = time.Time{}, now
		}
		changed[p.of.rec] = true
	}
}

// recordRefusal records when the receiver began to refuse the messages of a job.
func (j *job) recordRefusal(now time.Time) {
	fault, _ := faultOf(j.err)
	for _, p := range j.parts {
		if fault != Refused {
			p.Refused = time.Time{}
		} else if p.Refused.IsZero() {
			p.Refused = now
		}
	}
}

// removeFinished removes the outbox entries of the given alerts, except alerts that need a further message.
// Before that, it marks pending deliveries to notifiers that are not configured as failed.
func (s *Sender) removeFinished(ctx context.Context, works iter.Seq[*work]) error {
	now := s.opts.Now().UTC()
	var over []*work
	var changed []*record
	for w := range works {
		if w.rec == nil {
			continue
		}
		if s.failRemoved(w.rec, now) {
			changed = append(changed, w.rec)
		}
		if w.seen && w.current && w.recheck.IsZero() && w.rec.state() != Pending && !s.refreshes(w.rec, now) {
			over = append(over, w)
		}
	}
	if len(changed) > 0 {
		if err := s.records.write(ctx, changed); err != nil {
			s.reset()
			return err
		}
	}
	return s.removeEntries(ctx, over)
}

func (s *Sender) failRemoved(r *record, now time.Time) (changed bool) {
	for _, d := range r.Deliveries {
		if d.State == Pending && !slices.ContainsFunc(s.outlets, func(o *outlet) bool { return o.Name == d.Notifier }) {
			d.State, d.Error, d.Next, d.Ended, changed = Failed, errRemoved.Error(), time.Time{}, now, true
			if d.Type == Opened { // if the notifier is added again, it receives the opening then
				r.Targets = slices.DeleteFunc(r.Targets, func(name string) bool { return name == d.Notifier })
			}
		}
	}
	if changed {
		r.trim()
	}
	return changed
}

// refreshes reports whether a notifier still resends a message of an alert.
func (s *Sender) refreshes(r *record, now time.Time) bool {
	return slices.ContainsFunc(s.outlets, func(o *outlet) bool { return o.refreshes(r, now) })
}

// refreshes reports whether the notifier of the outlet resends the last message of an alert.
func (o *outlet) refreshes(r *record, now time.Time) bool {
	n, ok := o.Notifier.(Refresher)
	if !ok || r.Shown == nil {
		return false
	}
	for _, d := range slices.Backward(r.Deliveries) {
		if d.Message == r.Shown.ID && d.Notifier == o.Name {
			return d.State == Delivered && d.Digest == "" && (r.Reported == alerts.Open || now.Sub(d.Ended) < n.RefreshResolved())
		}
	}
	return false
}
