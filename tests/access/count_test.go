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

// shown lists the operations that are counted, in the order of the document.
// Operations that only describe tables are left out: they cost nothing.
var shown = []string{
	"Query", "Scan", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "CreateTable", "DeleteTable",
}

// operations counts the operations of a client.
type operations struct {
	mu   sync.Mutex
	seen map[string]int
}

// client returns a client like c that counts its operations. Retries do not count.
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

// reset returns the operations since the last call, as in "16 Query, 1 PutItem".
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

// cost holds the cost of a pattern, as in the document's table.
type cost struct{ operations, reads, writes string }

// measure returns the cost of a pattern with warm caches. It performs the pattern
// until two costs in a row are the same. This excludes requests that the engine
// makes by itself.
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

// units returns the units used between two measurements, on readings' tables and
// the registry.
func units(before, after, registryBefore, registryAfter dynamo.Use) string {
	return fmt.Sprintf("%g", after.Units-before.Units+registryAfter.Units-registryBefore.Units)
}
