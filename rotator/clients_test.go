package rotator_test

import (
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/router"
)

// client sends one reading. The reading is current, late or early, or was sent before. Late
// readings may be decades old.
func (l *life) client() {
	if l.rng.IntN(30) == 0 {
		l.admit()
	}
	req, err := l.router.Admit()
	if err != nil {
		l.t.Fatal(err)
	}
	l.finish(req)
}

// admit begins a request. Its reading is written later, but within Policy.Seal.
func (l *life) admit() {
	req, err := l.router.Admit()
	if err != nil {
		l.t.Fatal(err)
	}
	l.slow = append(l.slow, slowRequest{req, l.clock.Add(time.Duration(l.rng.Int64N(int64(l.policy.Seal))))})
}

func (l *life) finishSlow() {
	now, slow := l.clock, l.slow
	l.slow = nil
	for _, s := range slow {
		if s.at.After(now) {
			l.slow = append(l.slow, s)
			continue
		}
		l.clock = s.at
		l.finish(s.Request)
		l.late++
	}
	l.clock = now
}

func (l *life) eventTime(arrived time.Time) time.Time {
	switch l.rng.IntN(12) {
	case 0:
		return arrived.Add(time.Duration(l.rng.Int64N(int64(l.policy.Grid.Future) + 1)))
	case 1, 2:
		return arrived.Add(-time.Duration(l.rng.Int64N(int64(70 * day))))
	case 3:
		return arrived.Add(-time.Duration(l.rng.Int64N(int64(6 * 365 * day))))
	case 4:
		return time.Unix(l.rng.Int64N(arrived.Unix()), 0)
	default:
		return arrived.Add(-time.Duration(l.rng.Int64N(int64(time.Hour))))
	}
}

// finish writes a reading with a request, and records the reading if it was acknowledged.
func (l *life) finish(req *router.Request) {
	defer req.Done()
	stream := "weather"
	if l.rng.IntN(3) == 0 {
		stream = "debug"
	}
	r := varve.Reading{
		Series: series(stream, fmt.Sprint("dev", l.rng.IntN(2))), Time: l.eventTime(req.Arrived()),
		Fields: []varve.Field{{Name: "value", Value: varve.IntValue(l.rng.Int64N(3))}},
	}
	if len(l.sent) > 0 && l.rng.IntN(6) == 0 {
		again := l.sent[l.rng.IntN(len(l.sent))]
		r = again.Clone()
	}
	readings, verdicts := []varve.Reading{r}, make([]varve.Verdict, 1)
	if err := req.Write(l.t.Context(), readings, verdicts); err != nil {
		l.t.Fatal(err)
	}
	if verdicts[0].Outcome == varve.Rejected {
		l.t.Fatalf("%s: %s: %s", l.clock, &readings[0], verdicts[0])
	}
	l.acknowledged(&readings[0], verdicts[0].Outcome == varve.Duplicate)
}

func (l *life) acknowledged(r *varve.Reading, duplicate bool) {
	l.acked++
	if len(l.sent) < 20 {
		l.sent = append(l.sent, r.Clone())
	} else {
		l.sent[l.rng.IntN(len(l.sent))] = r.Clone()
	}
	if duplicate {
		return // a duplicate does not change the stored reading
	}
	l.done.addReading(l.policy.Retention.ClassOf(r.Stream).Name, r)
	last := r.Arrived
	if r.Time.After(last) {
		last = r.Time
	}
	expires := last.Add(l.retention[r.Stream])
	if l.alive[r.Series] == nil {
		l.alive[r.Series] = map[varve.Position]time.Time{}
	}
	if at := r.Position(); expires.After(l.alive[r.Series][at]) {
		l.alive[r.Series][at] = expires
	}
	month := grid.MonthOf(r.Arrived)
	rg, ok := l.policy.Grid.Locate(r.Time, month)
	if !ok {
		l.t.Fatalf("%s was stored, and no table holds it", r)
	}
	t := grid.Table{Prefix: l.policy.Retention.TablePrefix(l.policy.Retention.ClassOf(r.Stream).Name), Range: rg, Month: month}
	if expires.After(l.until[t]) {
		l.until[t] = expires
	}
}
