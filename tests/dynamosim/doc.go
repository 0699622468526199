// Package dynamosim implements an in-memory stand-in for Amazon DynamoDB.
//
//	HTTP ── operation ── latency ── answer
//	            │
//	            ├── tables ── keyspace   64 shards of sorted item collections
//	            │      └──── indexes     one keyspace each
//	            ├── expr, value          expressions and attribute values
//	            └── capacity             partitions, bursts, throttling
//
// Tests and benchmarks use it at rates that emulators do not reach. [Server] is the main type. It
// is an http.Handler for DynamoDB's JSON 1.0 protocol, and implements the operations that
// store/dynamo uses. [Options] has the clock, the latency and the limits, so tests need not wait.
// [Server.Usage] returns the [Usage].
//
// These rules always hold:
//
//   - Answers, errors and consumed units equal Amazon's. Tests compare them with DynamoDB Local and
//     dynoxide. Package capacity has the rules of throttling and their sources.
//   - Without limits, no request is throttled.
//   - Indexes are updated by the write itself, and all reads are consistent.
//   - Signatures are not checked.
//
// The stand-in does not implement transactions, streams, backups, PartiQL, local secondary indexes
// or changes of indexes. It also lacks the legacy parameters that expressions replaced, and the
// deletion of expired items. All data is lost when the process ends. A Server is safe for
// concurrent use.
package dynamosim
