package dynamo_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamotest"
)

// scaledTemplate has capacity limits for hot tables only. Cold tables have one unit per second.
const scaledTemplate = `{
	"billing": "provisioned",
	"capacity": {"hot": {"read": 5, "write": 5}, "warm": {"read": 3, "write": 3}, "cold": {"read": 1, "write": 1}},
	"capacity_max": {"hot": {"read": 100, "write": 1000}}
}`

type movedClock struct{ at atomic.Int64 }

func newClock() *movedClock {
	c := &movedClock{}
	c.at.Store(time.Now().UnixNano())
	return c
}

func (c *movedClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *movedClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// useRows writes new rows into a table. Each takes one write unit.
func useRows(t *testing.T, s *dynamo.Store, tb grid.Table, from, n int) {
	t.Helper()
	var readings []varve.Reading
	for i := range n {
		readings = append(readings, sensor(someTime.Add(time.Duration(from+i)*time.Second), "v", varve.IntValue(int64(i))))
	}
	if got := send(t, s, tb, readings...); got != strings.Repeat("s", n) {
		t.Fatalf("verdicts %s", got)
	}
}

// reported writes the use of a process to the registry, and returns whether tables are scaled.
func reported(t *testing.T, s *dynamo.Store) bool {
	t.Helper()
	scales, err := s.ReportUse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return scales
}

// scaled scales tables, and returns the changes as text.
func scaled(t *testing.T, s *dynamo.Store) string {
	t.Helper()
	changes, err := s.Scale(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, c := range changes {
		text = append(text, fmt.Sprintf("read %d to %d, write %d to %d", c.ReadFrom, c.ReadTo, c.WriteFrom, c.WriteTo))
	}
	return strings.Join(text, "; ")
}

// TestScale_FollowsUseOfAllProcesses scales a table to which two processes write. The capacity must rise
// with the sum of their use. It must not fall in the six hours after the peak, and must fall two hours
// later. A sealed table must get the low capacity.
func TestScale_FollowsUseOfAllProcesses(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url, clock := e.Start(t), newClock()
			o := dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: clock.now}
			one, two := openWith(t, o), openWith(t, o)
			putTemplate(t, one, scaledTemplate)
			tb := newTable(t, one)
			if !reported(t, one) || !reported(t, two) {
				t.Fatal("the template's tables are not scaled")
			}
			useRows(t, one, tb, 0, 400)
			useRows(t, two, tb, 400, 300)
			clock.advance(10 * time.Second)
			reported(t, one)
			reported(t, two)
			// 70 units a second are 70 % of 100 units. The first write also marks the table as used, and
			// writes its stream row. Neither counts as use of the table.
			if got := scaled(t, one); got != "read 5 to 5, write 5 to 100" {
				t.Errorf("after 700 writes in 10 s: %q", got)
			}
			if got := shape(describe(t, url, tb.Name())); got != "provisioned 5/100, protected" {
				t.Errorf("raised: %s", got)
			}
			if got := scaled(t, two); got != "" {
				t.Errorf("a second run changes %q", got)
			}
			lowers(t, clock, url, tb, one, two)
			if err := one.Tune(t.Context(), tb, store.Cold); err != nil {
				t.Fatal(err)
			}
			if got := shape(describe(t, url, tb.Name())); got != "provisioned 1/1, protected" {
				t.Errorf("sealed: %s", got)
			}
			if got := scaled(t, one); got != "" {
				t.Errorf("a sealed table is scaled: %q", got)
			}
		})
	}
}

// TestScale_LeavesTableToConcurrentTune makes a table cold while another process raises its capacity. The
// capacity of the cold tier must stay.
func TestScale_LeavesTableToConcurrentTune(t *testing.T) {
	t.Parallel()
	url, clock := standIn(t), newClock()
	link := &actionHook{action: "UpdateTable", code: "ResourceInUseException"}
	one := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: clock.now})
	two := openWith(t, dynamo.Options{Client: hooked(url, link), Registry: "t_registry", Now: clock.now})
	putTemplate(t, one, scaledTemplate)
	tb := newTable(t, one)
	reported(t, one)
	useRows(t, one, tb, 0, 400)
	clock.advance(10 * time.Second)
	reported(t, one)
	link.before = func() {
		if err := one.Tune(t.Context(), tb, store.Cold); err != nil {
			t.Error(err)
		}
	}
	if got := scaled(t, two); got != "" {
		t.Errorf("changes %q, want none", got)
	}
	if n, got := link.sent.Load(), shape(describe(t, url, tb.Name())); n != 1 || got != "provisioned 1/1, protected" {
		t.Errorf("%d updates, capacity %s; want 1 and the capacity of a cold table", n, got)
	}
}

// lowers checks that the capacity of the table does not fall for six hours, and has fallen two hours
// later. The restart of one process meanwhile must not change that.
func lowers(t *testing.T, clock *movedClock, url string, tb grid.Table, one, two *dynamo.Store) {
	t.Helper()
	for hour := 1; hour <= 6; hour++ {
		clock.advance(time.Hour)
		useRows(t, one, tb, 1000*hour, 20)
		reported(t, one)
		if hour == 3 {
			two = openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: clock.now})
		}
		reported(t, two)
		if got := scaled(t, two); got != "" {
			t.Errorf("%d hours after the peak: %q", hour, got)
		}
	}
	clock.advance(2 * time.Hour)
	reported(t, one)
	if got := scaled(t, one); got != "read 5 to 5, write 100 to 5" {
		t.Errorf("8 hours after the peak: %q", got)
	}
}

// inProcess is a transport that calls a handler. It uses no connections, because the fake clock of
// synctest would not wait for them.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestScale_EndsThrottling writes 20 rows a second to a table with 5 write units. The server
// throttles as DynamoDB does. After some minutes, no request may be throttled. The clock is fake, so
// that the speed of the machine does not change the number of writes per second.
func TestScale_EndsThrottling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const minutes, perSecond = 6, 20
		begin := time.Now()
		clock := func() time.Time { return someTime.Add(time.Since(begin)) }
		limits := capacity.Amazon()
		limits.Burst = 0 // saved units would hide the missing capacity
		server := dynamosim.New(dynamosim.Options{Now: clock, Limits: &limits, Latency: func() time.Duration { return 5 * time.Millisecond }})
		s := openWith(t, dynamo.Options{Client: hooked("http://dynamodb.invalid", inProcess{server}), Registry: "t_registry", Now: clock})
		putTemplate(t, s, scaledTemplate)
		tb := newTable(t, s)
		reported(t, s)
		var throttled []int64
		next := 0
		for minute := range minutes {
			before := server.Usage().Throttled
			next = writeAtRate(t, s, tb, next, perSecond, clock().Add(time.Minute), clock)
			throttled = append(throttled, server.Usage().Throttled-before)
			reported(t, s)
			t.Logf("minute %d: %d throttled, then %q", minute, throttled[minute], scaled(t, s))
		}
		if slices.Max(throttled) == 0 || throttled[minutes-1] > 0 {
			t.Errorf("throttled requests by minute: %v, want some, and none in the last", throttled)
		}
	})
}

// writeAtRate writes new rows, beginning with the given number, at a rate per second until the end. It returns
// the number of the next row.
func writeAtRate(t *testing.T, s *dynamo.Store, tb grid.Table, from, perSecond int, end time.Time, clock func() time.Time) int {
	t.Helper()
	var next atomic.Int64
	next.Store(int64(from))
	pace := rate.NewLimiter(rate.Limit(perSecond), 1)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for clock().Before(end) && pace.Wait(t.Context()) == nil {
				at := someTime.Add(time.Duration(next.Add(1)) * time.Second)
				res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: []varve.Reading{sensor(at, "v", varve.IntValue(1))}}})
				if err := res[0].Err; err != nil && varve.FailureOf(err) != varve.Unavailable && varve.FailureOf(err) != varve.Busy {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	return int(next.Load())
}

// TestScale_IgnoresOtherTables checks that tables without capacity_max, and on-demand tables, stay as they
// are. Without scaled tables, no use may be written into the registry.
func TestScale_IgnoresOtherTables(t *testing.T) {
	t.Parallel()
	url, clock := dynamotest.Dynoxide.Start(t), newClock()
	s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry", Now: clock.now})
	tb := newTable(t, s)
	for _, text := range []string{coldTemplate, `{}`, scaledTemplate} {
		putTemplate(t, s, text)
		reported(t, s)
		useRows(t, s, tb, len(text)*1000, 100)
		clock.advance(time.Second)
		if scales := reported(t, s); scales != (text == scaledTemplate) {
			t.Errorf("%s: scaled: %v", text, scales)
		}
		page, err := s.Query(t.Context(), store.ItemQuery{PK: "CONSUMED"})
		if err != nil {
			t.Fatal(err)
		}
		if (len(page.Items) > 0) != (text == scaledTemplate) {
			t.Errorf("%s: %d reports of use", text, len(page.Items))
		}
		if got := scaled(t, s); got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestTemplate_RejectsWrongScaling(t *testing.T) {
	for text, want := range map[string]string{
		`{"billing":"provisioned","capacity":{"hot":{"read":5,"write":5},"warm":{"read":1,"write":1}},"capacity_max":{"cold":{"read":9,"write":9}}}`: "capacity_max.cold: requires capacity.cold, the smallest capacity: add it",
		`{"billing":"provisioned","capacity":{"hot":{"read":5,"write":5},"warm":{"read":1,"write":1}},"capacity_max":{"hot":{"read":9,"write":4}}}`:  "capacity_max.hot: 9 read and 4 write units are less than capacity.hot: raise them",
		`{"capacity_max":{"tepid":{"read":9,"write":4}}}`: "capacity_max.tepid: unknown tier: use hot, warm and cold",
	} {
		if _, err := dynamo.ParseTemplate([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
