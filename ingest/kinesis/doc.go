// Package kinesis stores the readings of a stream of Amazon Kinesis.
//
//	ListShards ──▶ Consumer ──▶ worker per shard: lease
//	                 │            └─▶ GetRecords ──▶ records.Receiver ──▶ checkpoint
//	                 └── share of this process: readable shards / processes
//
// The main types:
//
//   - [Consumer] finds shards, and starts a worker for each shard of its share.
//   - worker reads one shard while it has the lease of the shard.
//   - ledger stores checkpoints in the registry.
//
// These rules always hold:
//
//   - A checkpoint is stored only when each reading of the earlier records is durable, as a reading or
//     as a reject. A reject beyond the limit of stored rejects is discarded.
//   - A checkpoint has the fencing token of its lease. A worker whose lease was lost cannot
//     overwrite the checkpoint of its successor.
//   - A shard is read after its parents have been read to their ends.
//
// A failure is reported and retried. Meanwhile, the shard waits. After a crash, another process
// acquires the lease and continues at the checkpoint. Two workers may read one shard for a moment,
// after a lease was lost. The second copies of readings are duplicates then. [Consumer.Close]
// stores the received records, and releases the leases.
package kinesis
