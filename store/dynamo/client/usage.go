package client

import (
	"math"
	"sync/atomic"

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
// whose condition failed, so they are computed from the size of the row.
type Usage struct {
	Writes, Reads                 Use // use by writes and reads of readings
	RegistryWrites, RegistryReads Use // use by writes and reads of registry items
}

// Meters count the use of each kind of work. They are safe for concurrent use.
type Meters struct{ Writes, Reads, ItemWrites, ItemReads Meter }

// Usage returns the use so far.
func (m *Meters) Usage() Usage {
	return Usage{Writes: m.Writes.use(), Reads: m.Reads.use(), RegistryWrites: m.ItemWrites.use(), RegistryReads: m.ItemReads.use()}
}

// Meter counts requests and half units. Half a unit is the smallest amount that DynamoDB bills.
type Meter struct{ requests, halves atomic.Int64 }

// Add counts a request and the units that it used.
func (m *Meter) Add(consumed *types.ConsumedCapacity) { m.add(halves(consumed)) }

// AddRefused counts a write whose condition failed because of the stored row or item.
func (m *Meter) AddRefused(stored attr.Item) {
	m.add(2 * max(1, int64(attr.Size(stored)+UnitBytes-1)/UnitBytes))
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
