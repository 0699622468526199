package notify

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

const (
	leaseName = "notify"
	leaseTTL  = 30 * time.Second
	// DefaultEvery is the default of Options.Every.
	DefaultEvery = 2 * time.Second
	// DefaultDigest is the default of Options.Digest.
	DefaultDigest = 5 * time.Minute
	// announcedFor limits how long the sender waits for a change that an outbox entry announces. The
	// entry is written before the alert itself changes. The limit exceeds the default time limit of a
	// request and any clock skew.
	announcedFor = time.Hour
	// checkMuted is the maximum time between two reads of a muted alert, because users may change its mute.
	checkMuted = 30 * time.Second
	// restFor is the pause of all sending after results could not be stored. Without it, the same
	// messages would be resent at every read of the outbox.
	restFor = 30 * time.Second
	// page is the maximum number of alerts per read.
	page = 500
)

// Options configure a sender. Items, Outbox, Targets, Now and Holder are required.
type Options struct {
	Items   store.Items
	Outbox  *alerts.Outbox
	Targets []Target
	Now     func() time.Time
	Holder  string // unique name of this process, for the lease
	// Tenants returns the tenants whose open alerts are announced to added notifiers. If nil, only the
	// default tenant has alerts.
	Tenants func(context.Context) ([]string, error)
	URL     string        // address of Varve that messages link to; if empty, messages have no links
	Digest  time.Duration // time over which late alerts are collected; 0 means DefaultDigest
	Every   time.Duration // time between two reads of the outbox; 0 means DefaultEvery
	// Ended, if set, is called after the last attempt of a message. The error is nil if the message
	// was delivered.
	Ended func(notifier string, m *Message, err error)
	// Failed, if set, is called when an attempt or a task fails. Both are retried, except attempts of
	// a message that has failed permanently.
	Failed func(task string, err error)
}

// Sender delivers messages about the alerts that an outbox names. In a cluster, only one process
// delivers at a time.
//
// All of its state belongs to the goroutine of Run, except the counters.
type Sender struct {
	opts    Options
	records records
	leases  lease.Manager
	held    *lease.Lease
	current bool      // introduce has succeeded since the acquisition of the lease
	resets  int       // number of calls to reset; results of batches that began before the last call are ignored
	resting time.Time // time until which no message is sent
	works   map[alerts.AlertName]*work
	digests map[digestKey]*openDigest
	queues  map[string]*queue // by notifier; nil after a delivery was added
	outlets []*outlet
	results chan batchResult
	sending sync.WaitGroup
	counts  counters
}

// work is an alert with an entry in the outbox.
type work struct {
	entry   alerts.OutboxEntry
	rec     *record
	current bool      // the alert was read after this entry was written
	recheck time.Time // when to reread the alert; zero means never
	seen    bool      // the entry was in the last read of the outbox
}

// NewSender returns a sender. Run starts it.
func NewSender(o Options) *Sender {
	if o.Digest == 0 {
		o.Digest = DefaultDigest
	}
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	if o.Ended == nil {
		o.Ended = func(string, *Message, error) {}
	}
	s := &Sender{
		opts: o, records: records{items: o.Items, now: o.Now}, results: make(chan batchResult),
		leases: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL},
	}
	for i := range o.Targets {
		s.outlets = append(s.outlets, &outlet{Target: o.Targets[i]})
	}
	s.counts.init(o.Targets)
	s.reset()
	return s
}

// reset forgets the lease, and the alerts and digests in memory. The alerts are reread after the next
// acquisition of the lease.
func (s *Sender) reset() {
	s.resets++
	s.held, s.current, s.works, s.digests = nil, false, map[alerts.AlertName]*work{}, map[digestKey]*openDigest{}
	s.queues = nil
	s.counts.setQueues(nil)
}

// Run delivers alerts until the context ends. Then it releases the lease, and closes the notifiers.
func (s *Sender) Run(ctx context.Context) {
	tick := time.NewTicker(s.opts.Every)
	defer tick.Stop()
	s.report(ctx, s.deliver(ctx))
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return
		case <-tick.C:
			s.report(ctx, s.deliver(ctx))
		case r := <-s.results:
			err := s.finish(ctx, &r)
			if err == nil && s.held != nil {
				err = s.sendNext(ctx, r.works) // without the other alerts, which may be many
			}
			s.report(ctx, err)
		}
	}
}

// stop waits for running attempts and records their results. Then it releases the lease, and closes
// the notifiers.
func (s *Sender) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTTL)
	defer cancel()
	done := make(chan struct{})
	go func() {
		s.sending.Wait()
		close(done)
	}()
	for waiting := true; waiting; {
		select {
		case r := <-s.results:
			s.report(ctx, s.finish(ctx, &r))
		case <-done:
			waiting = false
		}
	}
	if s.held != nil {
		s.report(ctx, s.held.Release(ctx))
	}
	for _, o := range s.outlets {
		if c, ok := o.Notifier.(Closer); ok {
			c.Close()
		}
	}
}

// report passes a failure to Options.Failed. A lost lease is not a failure: it resets the sender.
func (s *Sender) report(ctx context.Context, err error) {
	if errors.Is(err, lease.ErrLost) || errors.Is(err, errSuperseded) {
		s.reset()
		return
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Failed("delivery of alerts", err)
	}
}

// deliver reads the outbox, queues messages, and begins to send due messages.
func (s *Sender) deliver(ctx context.Context) error {
	if s.opts.Now().Before(s.resting) {
		return nil
	}
	if held, err := s.acquire(ctx); err != nil || !held {
		return err
	}
	if err := s.introduce(ctx); err != nil {
		return err
	}
	entries, err := s.opts.Outbox.Entries(ctx)
	if err != nil {
		return err
	}
	if err := s.refresh(ctx, entries); err != nil {
		return err
	}
	s.counts.setQueues(queueStates(maps.Values(s.works)))
	return s.sendNext(ctx, maps.Values(s.works))
}

// sendNext removes the outbox entries of the given alerts, except alerts that need a further message. Then it
// begins to send due messages. The sender must hold the lease, which sendNext checks.
func (s *Sender) sendNext(ctx context.Context, works iter.Seq[*work]) error {
	if err := s.held.Check(ctx); err != nil {
		return err
	}
	if err := s.removeFinished(ctx, works); err != nil {
		return err
	}
	s.dispatch(ctx)
	return nil
}

// acquire acquires or checks the lease, and reports whether it is held.
func (s *Sender) acquire(ctx context.Context) (bool, error) {
	if s.held != nil {
		return true, s.held.Check(ctx)
	}
	l, err := s.leases.Acquire(ctx, leaseName)
	if errors.Is(err, lease.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.reset()
	s.held = l
	return true, nil
}

// refresh updates s.works from the entries of the outbox, and queues messages about changed alerts.
func (s *Sender) refresh(ctx context.Context, entries []alerts.OutboxEntry) error {
	now := s.opts.Now()
	for _, w := range s.works {
		w.seen = false
	}
	var stale []*work
	for _, e := range entries {
		w := s.works[e.AlertName]
		if w == nil {
			w = &work{}
			s.works[e.AlertName] = w
		}
		if w.entry != e {
			w.entry, w.current = e, false
		}
		w.seen = true
		if !w.current || !w.recheck.IsZero() && !now.Before(w.recheck) {
			stale = append(stale, w)
		}
	}
	for name, w := range s.works {
		if !w.seen && (w.rec == nil || w.rec.state() != Pending) {
			delete(s.works, name)
		}
	}
	for len(stale) > 0 {
		n := min(len(stale), page)
		if err := s.queue(ctx, stale[:n]); err != nil {
			s.reset() // the records in memory may differ from the stored ones
			return err
		}
		stale = stale[n:]
	}
	return nil
}

func (s *Sender) queue(ctx context.Context, list []*work) error {
	var names, unread []alerts.AlertName
	for _, w := range list {
		names = append(names, w.entry.AlertName)
		if w.rec == nil {
			unread = append(unread, w.entry.AlertName)
		}
	}
	current, err := s.opts.Outbox.Alerts(ctx, names)
	if err != nil {
		return err
	}
	recs, err := s.records.load(ctx, unread)
	if err != nil {
		return err
	}
	var changed []*record
	for _, w := range list {
		if w.rec == nil {
			w.rec, s.queues = recs[w.entry.AlertName], nil
		}
		before, reported, targets := w.rec.Count, w.rec.Reported, len(w.rec.Targets)
		if err := s.queueOne(ctx, w, current); err != nil {
			return err
		}
		if w.rec.Count != before || w.rec.Reported != reported || len(w.rec.Targets) != targets {
			changed, s.queues = append(changed, w.rec), nil
		}
	}
	if err := s.held.Check(ctx); err != nil || len(changed) == 0 {
		return err
	}
	err = s.records.write(ctx, changed)
	if refused := new(refusedError); errors.As(err, &refused) {
		refused.postpone(list, s.opts.Now().Add(restFor))
		s.opts.Failed("delivery of alerts", refused)
		return nil
	}
	return err
}

// postpone forgets the refused records until a later try. The messages of all other alerts are sent
// meanwhile.
func (e *refusedError) postpone(list []*work, until time.Time) {
	for _, w := range list {
		if slices.Contains(e.records, w.rec) {
			w.rec, w.recheck = nil, until
		}
	}
}

func (s *Sender) queueOne(ctx context.Context, w *work, current map[alerts.AlertName]alerts.Published) error {
	now := s.opts.Now().UTC()
	w.current, w.recheck = true, time.Time{}
	a, exists := current[w.entry.AlertName]
	if a.Version < w.entry.Version && now.Sub(w.entry.At) < announcedFor {
		w.recheck = now.Add(s.opts.Every) // the entry exists, but the change that it announces is not stored yet
	}
	if !exists {
		return nil
	}
	rule, err := s.opts.Outbox.Rule(ctx, a.Tenant, a.Rule)
	if err != nil {
		return err
	}
	successor := ""
	if a.Moved && w.rec.Reported == alerts.Open {
		next, err := s.opts.Outbox.Successor(ctx, &a.Alert)
		if err != nil {
			return err
		}
		if next.ID != a.ID {
			successor = next.ID
		}
	}
	q := queuing{targets: s.opts.Targets, url: s.opts.URL, now: now, digest: s.digestFor}
	silent := w.rec.silenced()
	if until := w.rec.queue(&q, &a, rule, successor); !until.IsZero() {
		w.recheck = now.Add(min(until.Sub(now), checkMuted))
	}
	s.counts.addSilent(w.rec.silenced() - silent)
	return nil
}
