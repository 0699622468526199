// Package consumer provides the parts that the consumers of Kinesis and SQS share.
//
// The main types and functions:
//
//   - [Connection] is the configuration of an AWS client.
//   - [Metrics] counts queue records, and reports the age of the waiting records.
//   - [Retry] repeats a function with growing pauses until it succeeds.
//
// Retry ends with a permanent error or with its context, and reports each other error. Its pauses
// grow from 200 ms to 15 s. [Connection.Load] sends no request. Metrics are safe for concurrent
// use.
package consumer
