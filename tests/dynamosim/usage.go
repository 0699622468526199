package dynamosim

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// counts are the numbers of requests and failed requests.
type counts struct {
	requests, throttled, conditions, others atomic.Int64
}

func (c *counts) addFailure(f *failure) {
	switch {
	case f.reason != "":
		c.throttled.Add(1)
	case strings.HasSuffix(f.kind, "ConditionalCheckFailedException"):
		c.conditions.Add(1)
	default:
		c.others.Add(1)
	}
}

// maxThrottled is the largest number of keys in throttles.byKey. Throttled requests for further keys are
// not counted.
const maxThrottled = 1 << 16

// throttles counts throttled requests by the hashes of their partition keys.
type throttles struct {
	mu    sync.Mutex
	byKey map[uint64]int64
}

func (t *throttles) add(hash uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[uint64]int64{}
	}
	if _, known := t.byKey[hash]; known || len(t.byKey) < maxThrottled {
		t.byKey[hash]++
	}
}

// sums returns the number of throttled requests for the most throttled key, and the number for
// all other keys.
func (t *throttles) sums() (hottest, others int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.byKey {
		hottest, others = max(hottest, n), others+n
	}
	return hottest, others - hottest
}

// Usage has the numbers of requests and units since the server was started.
type Usage struct {
	Requests         int64 `json:"requests"`
	Throttled        int64 `json:"throttled"`
	FailedConditions int64 `json:"failedConditions"`
	OtherFailures    int64 `json:"otherFailures"`

	Tables []TableUsage `json:"tables"`
}

// TableUsage has the numbers for a table. Only the units include the indexes of the table.
type TableUsage struct {
	Name       string  `json:"name"`
	ReadUnits  float64 `json:"readUnits"`
	WriteUnits float64 `json:"writeUnits"`
	Items      int64   `json:"items"`
	Bytes      int64   `json:"bytes"`
	Partitions int     `json:"partitions"` // number of partitions; 0 if the server does not simulate limits
	Splits     int     `json:"splits"`     // number of splits of hot partitions

	// ThrottledHottest is the number of throttled requests for the partition key with the most
	// throttled requests. ThrottledOthers is the number for all other keys.
	ThrottledHottest int64 `json:"throttledHottest"`
	ThrottledOthers  int64 `json:"throttledOthers"`
}

// Usage returns the current numbers.
func (s *Server) Usage() Usage {
	u := Usage{
		Requests: s.counts.requests.Load(), Throttled: s.counts.throttled.Load(),
		FailedConditions: s.counts.conditions.Load(), OtherFailures: s.counts.others.Load(),
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range s.tables {
		tu := TableUsage{Name: t.name, Items: t.items.Load(), Bytes: t.bytes.Load()}
		tu.add(&t.units)
		tu.ThrottledHottest, tu.ThrottledOthers = t.units.throttles.sums()
		for _, ix := range t.indexes {
			tu.add(&ix.units)
		}
		if t.units.limited != nil {
			state := t.units.limited.State()
			tu.Partitions, tu.Splits = state.Partitions, state.Splits
		}
		u.Tables = append(u.Tables, tu)
	}
	return u
}

func (t *TableUsage) add(u *throughput) {
	t.ReadUnits += float64(u.halves[capacity.Read].Load()) / 2
	t.WriteUnits += float64(u.halves[capacity.Write].Load()) / 2
}

func (s *Server) serveUsage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.Usage()) // the client may have closed the connection
}
