package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/varvedb/varve/apikeys"
)

// TestFirehose_AdmitsDeliveriesWhole sends deliveries that need several sessions, with a key whose rate
// has one reading left. The rate must admit each delivery as a whole, and refuse the next one.
func TestFirehose_AdmitsDeliveriesWhole(t *testing.T) {
	quoted := func(value int) string { return strings.Replace(point(value), "a=", `b="x",a=`, 1) }
	for name, c := range map[string]struct {
		params string
		body   string
	}{
		"bodies": {"?stream=weather&format=line", firehoseBody(quoted(1), quoted(2), quoted(3))},
		"parts":  {"?stream=weather", firehoseBody(append(append([]string{reading(1)}, make([]string, 40_000)...), reading(2))...)},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocked(t)
			key := l.create(apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: 1}})
			if r, _ := l.firehose(c.params, c.body, "X-Amz-Firehose-Access-Key", key); r.status != http.StatusOK {
				t.Errorf("the delivery: %d %s, want 200", r.status, r.body)
			}
			if r, _ := l.firehose(c.params, c.body, "X-Amz-Firehose-Access-Key", key); r.status != http.StatusServiceUnavailable {
				t.Errorf("the next delivery: %d %s, want 503", r.status, r.body)
			}
		})
	}
}
