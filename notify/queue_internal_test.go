package notify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve/alerts"
)

// accepting is a notifier that accepts each message.
type accepting struct{}

func (accepting) Send(context.Context, *Message) error { return nil }

// withPending returns a sender with one pending message about each of n alerts.
func withPending(n int) *Sender {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := NewSender(Options{Targets: []Target{{Name: "ops", Notifier: accepting{}}}, Now: func() time.Time { return now }})
	for i := range n {
		name := alerts.AlertName{Tenant: "default", Device: fmt.Sprintf("d%06d", i), Alert: fmt.Sprintf("a%06d", i)}
		m := &Message{ID: name.Alert, Type: Opened}
		s.works[name] = &work{rec: &record{AlertName: name, content: content{
			Messages:   []*Message{m},
			Deliveries: []*delivery{{Message: m.ID, Number: 1, Type: Opened, Notifier: "ops", State: Pending, Event: now, Queued: now, Next: now}},
		}}}
	}
	return s
}

// deliverBatch sends the next batch, marks its messages as delivered, and returns their number.
func (s *Sender) deliverBatch(ctx context.Context) int {
	s.dispatch(ctx)
	if !s.outlets[0].busy {
		return 0
	}
	r := <-s.results
	r.outlet.busy = false
	for _, j := range r.jobs {
		j.parts[0].State = Delivered
	}
	return len(r.jobs)
}

// TestDispatch_OrdersPendingMessagesOnce sends many batches. Only the first one may order the pending messages:
// the memory that a later one allocates must not grow with their number.
func TestDispatch_OrdersPendingMessagesOnce(t *testing.T) {
	allocations := map[int]float64{}
	for _, n := range []int{4 * mostJobs, 40 * mostJobs} {
		s := withPending(n)
		sent := s.deliverBatch(t.Context())
		allocations[n] = testing.AllocsPerRun(1, func() { s.queues["ops"].dueJobs(s.opts.Now()) })
		var last string
		for batch := 1; batch > 0; sent += batch {
			for _, j := range s.queues["ops"].dueJobs(s.opts.Now()) {
				if j.device <= last {
					t.Fatalf("%s follows %s", j.device, last)
				}
				last = j.device
			}
			batch = s.deliverBatch(t.Context())
		}
		if sent != n {
			t.Errorf("%d messages were sent, want %d", sent, n)
		}
	}
	if few, many := allocations[4*mostJobs], allocations[40*mostJobs]; many > 2*few {
		t.Errorf("a batch makes %.0f allocations for 40 batches of pending messages, and %.0f for 4", many, few)
	}
}

// BenchmarkDispatch sends all messages about many alerts, batch by batch.
func BenchmarkDispatch(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				s := withPending(n)
				for s.deliverBatch(b.Context()) > 0 {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
		})
	}
}
