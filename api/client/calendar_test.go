package client_test

import (
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func TestCalendar_AndWhy(t *testing.T) {
	c := newClient(t)
	write(t, c, readings(3))
	if cal, err := c.Calendar(t.Context(), client.CalendarQuery{Years: 1, ReadingsPerDay: []string{"default=12"}}, nil); err != nil || len(cal.Months) < 12 || cal.Most == 0 || cal.Load[0].Readings != 12 {
		t.Errorf("calendar %+v, %v, want a year", cal, err)
	}
	policy := wire.PolicyBody{
		Future: "1d", RecentWeeks: 6, Doubling: "5y", MonthsAhead: 1, Drop: true, Grace: "1w", Seal: "1h", MaxDrops: 100, Classes: map[string]string{"default": "7d"},
	}
	if cal, err := c.Calendar(t.Context(), client.CalendarQuery{}, &policy); err != nil || len(cal.Months) < 60 || cal.Months[50].Dropped == 0 {
		t.Errorf("calendar of another policy %+v, %v, want five years with drops", cal, err)
	}
	if why, err := c.Why(t.Context(), client.WhyQuery{Device: device, Time: "2001-01-01T00:00:00Z", Stream: "weather"}); err != nil || len(why.Streams) != 1 || why.Streams[0].State == wire.WhyStored {
		t.Errorf("why %+v, %v, want a reading that is not stored", why, err)
	}
}
