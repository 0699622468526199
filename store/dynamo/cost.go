package dynamo

import (
	"math"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/store"
)

// unitBytes is how much of a row one write unit writes.
const unitBytes = 1 << 10

// Usage is what a store has used since it was opened. What a write costs whose
// condition did not hold, DynamoDB does not say: it is what the row's size costs.
type Usage struct {
	WriteRequests, ReadRequests int64
	WriteUnits, ReadUnits       float64
}

// usage counts. Units are kept in halves, the smallest that there are.
type usage struct {
	writes, reads, writeHalves, readHalves atomic.Int64
}

func halves(c *types.ConsumedCapacity) int64 {
	if c == nil || c.CapacityUnits == nil {
		return 0
	}
	return int64(math.Round(2 * *c.CapacityUnits))
}

func (u *usage) wrote(c *types.ConsumedCapacity) {
	u.writes.Add(1)
	u.writeHalves.Add(halves(c))
}

// refused counts a write that was refused because of what the row holds.
func (u *usage) refused(row item) {
	u.writes.Add(1)
	u.writeHalves.Add(2 * max(1, int64(sizeOf(row)+unitBytes-1)/unitBytes))
}

func (u *usage) read(c *types.ConsumedCapacity) store.Cost {
	n := halves(c)
	u.reads.Add(1)
	u.readHalves.Add(n)
	return store.Cost{Requests: 1, Units: float64(n) / 2}
}

// Usage returns what the store has used so far.
func (s *Store) Usage() Usage {
	u := &s.usage
	return Usage{
		WriteRequests: u.writes.Load(), ReadRequests: u.reads.Load(),
		WriteUnits: float64(u.writeHalves.Load()) / 2, ReadUnits: float64(u.readHalves.Load()) / 2,
	}
}
