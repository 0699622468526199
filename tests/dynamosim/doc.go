// Package dynamosim is an in-memory stand-in for Amazon DynamoDB. Tests and benchmarks use it at
// rates that emulators do not reach.
//
//	HTTP ── operation ── latency ── answer
//	            │
//	            ├── tables ── keyspace   64 shards of sorted item collections
//	            │      └──── indexes     one keyspace each
//	            ├── expr, value          expressions and attribute values
//	            └── capacity             partitions, bursts, throttling
//
// Server is the main type. It is an http.Handler for DynamoDB's JSON 1.0 protocol, and implements
// the operations that store/dynamo uses. Answers, errors and consumed units equal Amazon's. Tests
// compare them with DynamoDB Local and dynoxide. Package capacity has the rules of throttling and
// their sources.
//
// The clock, the latency and the limits are options, so tests need not wait. Without limits, no
// request is throttled.
//
// The stand-in does not implement transactions, streams, backups, PartiQL, local secondary
// indexes, changes of indexes, the legacy parameters that expressions replaced, or the deletion of
// expired items. Indexes are updated by the write itself, and all reads are consistent. Signatures
// are not checked.
package dynamosim
