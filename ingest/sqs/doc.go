// Package sqs stores the readings of a queue of Amazon SQS.
//
//	ReceiveMessage ──▶ records.Receiver ──▶ DeleteMessageBatch
//	   long poll           durable
//
// A Consumer has several receivers. A message is deleted after each of its readings is durable, or is
// durable as a reject. While the store fails, a receiver retries its messages and receives no others.
// So an outage does not raise the receive counts of messages, and moves none to a dead-letter queue.
package sqs
