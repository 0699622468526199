// Package consumer has the parts that the consumers of Kinesis and SQS share.
//
// The main types:
//
//   - Connection is the configuration of an AWS client.
//   - Metrics counts records, and reports their lag.
//   - Retry repeats a function with growing pauses until it succeeds.
package consumer
