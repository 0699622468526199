// Package client sends requests to DynamoDB for the store.
//
//	caller ── Client ── SDK ── retryer ── watcher ── network
//	            │
//	            └── Usage: requests and units
//
// The main types:
//
//   - [Client] is the client of the SDK with three additions. It retries after incomplete answers,
//     it checks whether DynamoDB answers, and its meters count requests and units.
//   - [Meters] count the use of each kind of work. Callers count each answer in [Client.Usage],
//     because only they know the purpose of the request.
//
// If a request fails in spite of the retries of the SDK, [Client.Error] translates the error into an
// error of the store contract. Most of these errors name a remedy, and temporary ones are
// varve.Unavailable. If DynamoDB stops answering, the condition health.StoreUnreachable is set until it
// answers. Clients and Meters are safe for concurrent use.
package client

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/health"
)

// Client sends requests to DynamoDB. It has all methods of the client of the SDK.
type Client struct {
	*dynamodb.Client
	Usage Meters

	registry string
	watch    watcher
}

// New returns a Client that sends its requests with c, for a deployment with the given registry
// table. It reports health.StoreUnreachable to conditions, which may be nil.
func New(c *dynamodb.Client, registry string, conditions *health.Conditions) *Client {
	client := &Client{registry: registry, watch: watcher{conditions: conditions}}
	client.Client = withCutRetry(client.watch.watched(c), &client.Usage.ByTable)
	return client
}

// Registry returns the name of the registry table.
func (c *Client) Registry() string { return c.registry }
