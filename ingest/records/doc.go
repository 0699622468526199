// Package records stores the records of queues and streams, such as Kinesis and SQS.
//
//	records ──▶ Store ──▶ bodies of NDJSON or line protocol ──▶ ingest.Session
//
// The main types and functions:
//
//   - [Record] is a queue record: one message, with one reading or several.
//   - [Target] states the stream and the format of records, and [ParseTarget] parses one.
//   - [Receiver] stores records, and begins deliveries.
//   - [Delivery] is a list of records that its sender resends as a whole.
//
// Senders of records get no verdicts. So [Delivery.Store] succeeds only if each reading is durable,
// as a reading or as a reject. A reject beyond the limit of stored rejects is discarded. Then the caller
// acknowledges the records. After an error, the caller retries all of them, and readings that are stored
// already are duplicates. A Receiver is safe for concurrent use. A Delivery is not.
package records
