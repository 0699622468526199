package client

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// UnitBytes is the number of bytes that one write unit covers.
const UnitBytes = 1 << 10

// Use is the number of requests and units that one kind of work has used.
type Use struct {
	Requests int64
	Units    float64 // read or write request units
}

// Usage is the use of a store since it was opened. DynamoDB does not report the units of a write
// whose condition failed. For a row, they are computed from its size. For an item whose size is
// unknown, one unit is counted.
type Usage struct {
	Writes, Reads                 Use // use by writes and reads of readings
	RegistryWrites, RegistryReads Use // use by writes and reads of registry items
}

// Meters count the use of each kind of work. They are safe for concurrent use.
type Meters struct {
	Writes, Reads, ItemWrites, ItemReads Meter

	// ByTable has the units of Writes and Reads by table, except the units of Reader.Series.
	ByTable TableMeter
}

// Usage returns the use so far.
func (m *Meters) Usage() Usage {
	return Usage{Writes: m.Writes.use(), Reads: m.Reads.use(), RegistryWrites: m.ItemWrites.use(), RegistryReads: m.ItemReads.use()}
}

// Units are read and write units.
type Units struct {
	Read  float64 `json:"r,omitempty"`
	Write float64 `json:"w,omitempty"`
}

// TableUse is the use of a table by this process.
type TableUse struct {
	Units
	// ReadsThrottled and WritesThrottled report whether DynamoDB has refused requests because the
	// provisioned capacity of the table was used up.
	ReadsThrottled, WritesThrottled bool
}

// TableMeter counts the units that this process consumes per table, and records throttling, until TakeAll.
// It is safe for concurrent use.
type TableMeter struct {
	mu  sync.Mutex
	all map[string]TableUse
}

// TakeAll returns the use by table since the last call.
func (m *TableMeter) TakeAll() map[string]TableUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all = nil
	return all
}

func (m *TableMeter) change(table string, f func(*TableUse)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]TableUse{}
	}
	use := m.all[table]
	f(&use)
	m.all[table] = use
}

func (m *TableMeter) add(table string, u Units) {
	m.change(table, func(use *TableUse) { use.Read, use.Write = use.Read+u.Read, use.Write+u.Write })
}

// addThrottled records that an attempt failed because a table's provisioned capacity was used up. It
// ignores throttling for a hot partition key, because more capacity of the table would not help.
func (m *TableMeter) addThrottled(err error) {
	var refused *types.ProvisionedThroughputExceededException
	if !errors.As(err, &refused) {
		return
	}
	for _, r := range refused.ThrottlingReasons {
		_, table, ok := strings.Cut(aws.ToString(r.Resource), ":table/")
		if !ok {
			continue
		}
		switch aws.ToString(r.Reason) {
		case "TableReadProvisionedThroughputExceeded":
			m.change(table, func(use *TableUse) { use.ReadsThrottled = true })
		case "TableWriteProvisionedThroughputExceeded":
			m.change(table, func(use *TableUse) { use.WritesThrottled = true })
		}
	}
}

// AddWrite counts a write of readings and the units that it used.
func (m *Meters) AddWrite(table string, consumed *types.ConsumedCapacity) {
	n := halves(consumed)
	m.Writes.add(n)
	m.ByTable.add(table, Units{Write: float64(n) / 2})
}

// AddRefusedWrite counts a write of readings whose condition failed because of the stored row.
func (m *Meters) AddRefusedWrite(table string, stored attr.Item) {
	n := refusedHalves(stored)
	m.Writes.add(n)
	m.ByTable.add(table, Units{Write: float64(n) / 2})
}

// AddRead counts a read of readings and returns its cost.
func (m *Meters) AddRead(table string, consumed *types.ConsumedCapacity) store.Cost {
	cost := m.Reads.AddRead(consumed)
	m.ByTable.add(table, Units{Read: cost.Units})
	return cost
}

// Meter counts requests and half units. Half a unit is the smallest amount that DynamoDB bills.
type Meter struct{ requests, halves atomic.Int64 }

// Add counts a request and the units that it used.
func (m *Meter) Add(consumed *types.ConsumedCapacity) { m.add(halves(consumed)) }

// AddRefused counts a write whose condition failed because of the stored row or item.
func (m *Meter) AddRefused(stored attr.Item) {
	m.add(refusedHalves(stored))
}

func refusedHalves(stored attr.Item) int64 {
	return 2 * max(1, int64(attr.Size(stored)+UnitBytes-1)/UnitBytes)
}

// AddRead counts a read and returns its cost.
func (m *Meter) AddRead(consumed *types.ConsumedCapacity) store.Cost {
	n := halves(consumed)
	m.add(n)
	return store.Cost{Requests: 1, Units: float64(n) / 2}
}

func (m *Meter) add(halves int64) {
	m.requests.Add(1)
	m.halves.Add(halves)
}

func (m *Meter) use() Use {
	return Use{Requests: m.requests.Load(), Units: float64(m.halves.Load()) / 2}
}

func halves(c *types.ConsumedCapacity) int64 {
	if c == nil || c.CapacityUnits == nil {
		return 0
	}
	return int64(math.Round(2 * *c.CapacityUnits))
}
