// Package consumer has the parts that the consumers of Kinesis and SQS share.
//
// The main types:
//
//   - Connection is the configuration of an AWS client.
//   - Metrics counts queue records, and reports the age of the waiting records.
//   - Retry repeats a function with growing pauses until it succeeds.
package consumer
