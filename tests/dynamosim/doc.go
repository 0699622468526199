// Package dynamosim is a stand-in for Amazon DynamoDB in memory, for tests and benchmarks at rates
// that emulators do not reach.
//
//	HTTP ── operation ── latency ── answer
//	            │
//	            ├── tables ── keyspace   64 shards of sorted item collections
//	            │      └──── indexes     one keyspace each
//	            ├── expr, value          expressions and attribute values
//	            └── capacity             partitions, bursts, throttling
//
// Server is the main type: an http.Handler that speaks JSON 1.0. It has the operations that
// store/dynamo uses. Answers, errors and consumed units are Amazon's; tests compare them with
// DynamoDB Local and dynoxide. Package capacity states the rules of throttling and their sources.
//
// The clock, the latency and the limits are options, so that tests need no waiting. Without
// limits, no request is throttled.
//
// Left out: transactions, streams, backups, PartiQL, local secondary indexes, changes of indexes,
// the legacy parameters before expressions, and the deletion of expired items. Indexes are
// updated at once, and all reads are consistent. Signatures are not checked.
package dynamosim
