package notify

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// queue has the pending deliveries of a notifier. Some of them may have ended since.
type queue struct {
	single  []waiting         // deliveries of messages that are sent alone, sorted by device and event time
	digests map[string][]part // deliveries that are counted in digests, by the id of the digest
}

// waiting is a delivery of a message that is sent alone.
type waiting struct {
	part
	device string    // tenant and device
	event  time.Time // time by which the deliveries of a device are sorted: see record.order
}

// queueStates returns the states of the queues of some alerts, by notifier.
func queueStates(works iter.Seq[*work]) map[string]*queueState {
	states := map[string]*queueState{}
	for w := range works {
		if w.rec == nil {
			continue
		}
		for _, d := range w.rec.Deliveries {
			if d.State != Pending {
				continue
			}
			q := states[d.Notifier]
			if q == nil {
				q = &queueState{}
				states[d.Notifier] = q
			}
			q.add(d)
		}
	}
	return states
}

// formQueues returns the queues of all notifiers, with the deliveries of the given alerts.
//
// A queue stays in use for many batches, until further deliveries are added. If each batch listed and
// sorted all pending deliveries, the alerts of a large fleet would take minutes of computation.
func formQueues(outlets []*outlet, works iter.Seq[*work]) map[string]*queue {
	queues := map[string]*queue{}
	for _, o := range outlets {
		queues[o.Name] = &queue{digests: map[string][]part{}}
	}
	for w := range works {
		if w.rec == nil {
			continue
		}
		device := w.rec.Tenant + "/" + w.rec.Device
		for _, d := range w.rec.Deliveries {
			q := queues[d.Notifier]
			switch {
			case q == nil || d.State != Pending:
			case d.Digest != "":
				q.digests[d.Digest] = append(q.digests[d.Digest], part{d, w})
			default:
				q.single = append(q.single, waiting{part{d, w}, device, w.rec.order(d)})
			}
		}
	}
	for _, q := range queues {
		slices.SortFunc(q.single, compareWaiting)
	}
	return queues
}

func compareWaiting(a, b waiting) int {
	return cmp.Or(strings.Compare(a.device, b.device), a.event.Compare(b.event),
		strings.Compare(a.of.rec.Alert, b.of.rec.Alert), cmp.Compare(a.Number, b.Number))
}

// order returns the time by which a delivery is sorted. It is the event time, or the latest event
// time of the earlier messages about the alert if that is later.
func (r *record) order(d *delivery) (at time.Time) {
	for _, other := range r.Deliveries {
		if other.Number <= d.Number && other.Notifier == d.Notifier && other.Event.After(at) {
			at = other.Event
		}
	}
	return at
}

// dueJobs returns the first messages to be sent alone now, at most mostJobs. A delivery that has to wait
// delays later ones about its alert. With fewer than blockingAttempts attempts, it also delays later ones
// about its device.
func (q *queue) dueJobs(now time.Time) (due []*job) {
	for len(q.single) > 0 && q.single[0].State != Pending {
		q.single = q.single[1:]
	}
	device, held, delayed := "", false, map[string]bool{}
	for i := range q.single {
		w := &q.single[i]
		if len(due) == mostJobs {
			break
		}
		if w.State != Pending {
			continue
		}
		if w.device != device {
			device, held = w.device, false
			clear(delayed)
		}
		switch {
		case held || delayed[w.of.rec.Alert]:
		case w.Next.After(now):
			delayed[w.of.rec.Alert] = true
			held = w.Attempts < blockingAttempts
		default:
			due = append(due, &job{message: w.of.rec.message(w.delivery), parts: []part{w.part}, device: w.device})
		}
	}
	return due
}

// dueDigests returns the digests to be sent now.
func (s *Sender) dueDigests(q *queue, now time.Time) (due []*job) {
	for id, all := range q.digests {
		j := &job{}
		for _, p := range all {
			if p.State == Pending && !p.Next.After(now) {
				j.parts = append(j.parts, p)
			}
		}
		if len(j.parts) > 0 {
			j.message = s.summary(id, j.parts)
			due = append(due, j)
		}
	}
	return due
}
