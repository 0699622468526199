package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/varvedb/varve/store/dynamo"
)

// shown lists the operations that docs/access-patterns.md shows, in their order there. It omits
// operations that only describe tables, because they cost nothing.
var shown = []string{
	"Query", "Scan", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "CreateTable", "DeleteTable",
}

// operations counts the requests of a DynamoDB client by the name of their operation.
type operations struct {
	mu   sync.Mutex
	seen map[string]int
}

// client returns a copy of c that counts its operations. It does not count retries.
func (o *operations) client(c *dynamodb.Client) *dynamodb.Client {
	count := middleware.InitializeMiddlewareFunc("CountOperations", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		o.mu.Lock()
		o.seen[middleware.GetOperationName(ctx)]++
		o.mu.Unlock()
		return next.HandleInitialize(ctx, in)
	})
	return dynamodb.New(c.Options(), func(opts *dynamodb.Options) {
		opts.APIOptions = append(slices.Clone(opts.APIOptions), func(s *middleware.Stack) error {
			return s.Initialize.Add(count, middleware.After)
		})
	})
}

// reset returns the counted operations, as in "16 Query, 1 PutItem", and sets the counts to 0.
func (o *operations) reset() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var parts []string
	for _, op := range shown {
		if n := o.seen[op]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, op))
		}
	}
	clear(o.seen)
	return strings.Join(parts, ", ")
}

// cost is the cost of an access pattern, as the cells of docs/access-patterns.md show it.
type cost struct{ operations, reads, writes string }

// measure returns the cost of an access pattern when caches are warm. It calls the function
// "perform" until two calls in a row cost the same. The cost then includes no background request of
// the engine.
func (w *world) measure(t *testing.T, perform func(i int)) cost {
	t.Helper()
	last := cost{operations: "?"}
	for i := range 12 {
		w.operations.reset()
		before := w.store.Usage()
		perform(i)
		after := w.store.Usage()
		now := cost{
			operations: orNone(w.operations.reset()),
			reads:      units(before.Reads, after.Reads, before.RegistryReads, after.RegistryReads),
			writes:     units(before.Writes, after.Writes, before.RegistryWrites, after.RegistryWrites),
		}
		if now == last {
			return now
		}
		last = now
	}
	t.Fatalf("the cost varies each time, at last %v", last)
	return last
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// units returns the capacity units used between two measurements, summed over the tables of
// readings and the registry.
func units(before, after, registryBefore, registryAfter dynamo.Use) string {
	return fmt.Sprintf("%g", after.Units-before.Units+registryAfter.Units-registryBefore.Units)
}
