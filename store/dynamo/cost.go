package dynamo

import (
	"math"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/store"
)

// unitBytes is how much of a row one write unit writes.
const unitBytes = 1 << 10

// Use is what a kind of work has used.
type Use struct {
	Requests int64
	Units    float64 // read or write request units
}

// Usage is what a store has used since it was opened. What a write costs whose
// condition did not hold, DynamoDB does not say: it is what the row's size costs.
type Usage struct {
	Writes, Reads                 Use // of readings
	RegistryWrites, RegistryReads Use // of items
}

// counter counts requests and units, these in halves, the smallest there are.
type counter struct{ requests, halves atomic.Int64 }

func (c *counter) add(halves int64) {
	c.requests.Add(1)
	c.halves.Add(halves)
}

func (c *counter) use() Use {
	return Use{Requests: c.requests.Load(), Units: float64(c.halves.Load()) / 2}
}

type usage struct{ writes, reads, itemWrites, itemReads counter }

func halves(c *types.ConsumedCapacity) int64 {
	if c == nil || c.CapacityUnits == nil {
		return 0
	}
	return int64(math.Round(2 * *c.CapacityUnits))
}

// refused counts a write that was refused because of what is there.
func (c *counter) refused(there item) {
	c.add(2 * max(1, int64(sizeOf(there)+unitBytes-1)/unitBytes))
}

// read counts a read, and returns what it cost.
func (c *counter) read(consumed *types.ConsumedCapacity) store.Cost {
	n := halves(consumed)
	c.add(n)
	return store.Cost{Requests: 1, Units: float64(n) / 2}
}

// Usage returns what the store has used so far.
func (s *Store) Usage() Usage {
	u := &s.usage
	return Usage{Writes: u.writes.use(), Reads: u.reads.use(), RegistryWrites: u.itemWrites.use(), RegistryReads: u.itemReads.use()}
}
