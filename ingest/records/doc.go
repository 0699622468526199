// Package records stores the records of queues and streams, such as Kinesis and SQS.
//
//	records ──▶ Store ──▶ bodies of NDJSON or line protocol ──▶ ingest.Session
//
// The main types and functions:
//
//   - [Record] is a queue record: one message, with one reading or several.
//   - [Target] states the stream and the format of records, and [ParseTarget] parses one.
//   - [Receiver] stores records.
//
// Senders of records get no verdicts. So [Receiver.Store] succeeds only if each reading is durable,
// as a reading or as a reject. Then the caller acknowledges the records. After an error, the caller
// retries all of them, and readings that are stored already are duplicates. A Receiver is safe for
// concurrent use.
package records
