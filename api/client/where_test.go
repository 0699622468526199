package client_test

import (
	"testing"

	"github.com/varvedb/varve/api/client"
)

// TestReadings_FollowPagesOfFilter checks that a query with a filter and a limit returns all
// matching readings up to the limit, though the server ends pages early.
func TestReadings_FollowPagesOfFilter(t *testing.T) {
	c := newClient(t)
	write(t, c, readings(30))
	for _, tt := range []struct{ limit, want int }{{0, 20}, {1, 1}, {20, 20}, {25, 20}} {
		n := 0
		var answer client.Answer
		for r, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: device, Where: "v>=10", Limit: tt.limit, ScanLimit: 3}, &answer) {
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := r.Field("v").Int(); v != int64(10+n) {
				t.Errorf("limit %d: reading %d is %s", tt.limit, n, r)
			}
			n++
		}
		if n != tt.want || len(answer.Coverage.Read) != 1 {
			t.Errorf("limit %d: %d readings, want %d; %+v", tt.limit, n, tt.want, answer)
		}
	}
}
