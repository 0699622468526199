package dynamosim

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// counts are the numbers of requests and of failures.
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

// maxThrottled limits the number of keys whose throttled requests are counted.
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
	if len(t.byKey) < maxThrottled {
		t.byKey[hash]++
	}
}

// sums returns the numbers of throttled requests of the most throttled key, and of the others.
func (t *throttles) sums() (hottest, others int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.byKey {
		hottest, others = max(hottest, n), others+n
	}
	return hottest, others - hottest
}

// Usage is the consumption since the start.
type Usage struct {
	Requests         int64 `json:"requests"`
	Throttled        int64 `json:"throttled"`
	FailedConditions int64 `json:"failedConditions"`
	OtherFailures    int64 `json:"otherFailures"`

	Tables []TableUsage `json:"tables"`
}

// TableUsage is the consumption of a table with its indexes.
type TableUsage struct {
	Name       string  `json:"name"`
	ReadUnits  float64 `json:"readUnits"`
	WriteUnits float64 `json:"writeUnits"`
	Items      int64   `json:"items"`
	Bytes      int64   `json:"bytes"`
	Partitions int     `json:"partitions"` // 0 without limits
	Splits     int     `json:"splits"`     // for heat

	// ThrottledHottest is the number of throttled requests for one partition key of the table,
	// the most throttled one. ThrottledOthers is the number for all others.
	ThrottledHottest int64 `json:"throttledHottest"`
	ThrottledOthers  int64 `json:"throttledOthers"`
}

// Usage returns the consumption so far.
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
	_ = json.NewEncoder(w).Encode(s.Usage()) // the client may be gone
}
