// Package sqs stores the readings of a queue of Amazon SQS.
//
//	ReceiveMessage ──▶ records.Receiver ──▶ DeleteMessageBatch
//	   long poll           durable
//
// [Start] returns a running [Consumer], which has several receivers. [NewClient] returns its
// client.
//
// A message is deleted after each of its readings is durable, as a reading or as a reject. A reject beyond
// the limit of stored rejects is discarded. While the store fails, a receiver retries its messages, and no
// receiver of the process begins to receive others. So an outage raises the receive count of a message at
// most once for each process, if the visibility time-out is longer than a poll of 20 seconds.
//
// Each failure is reported and retried. If the process dies before a deletion, SQS returns the
// message once more, and its readings are duplicates. [Consumer.Close] waits until the received
// messages are stored, for a limited time.
package sqs
