// Package reconcile finds the periods in which two sets of readings of one series differ.
//
//	reading ──HashOf──▶ 128 bits ──Add──▶ Digest of a period
//
//	Set            the hashes of the readings that a sender has, by period
//	Reader         computes the digests of the store's readings, by period
//	Reader.Differ  compares the digests of a sender with the digests of the store
//
// So a sender finds lost readings without sending all of them. The main types:
//
//   - [Digest] is the sum of the hashes of distinct readings.
//   - [Set] and [Span] have the digests of a sender.
//   - [Reader] reads the store, and [Difference] has the periods that differ.
//
// These rules always hold:
//
//   - A digest does not depend on the order of readings, and the digest of a day is the sum of its
//     hours.
//   - A period whose readings may have expired, or were erased, is listed apart: a sender must not
//     resend them.
//   - Readings that were acknowledged before a call are included.
//
// docs/reconciliation.md has the algorithm and test vectors for senders in other languages. If the
// store fails, the call fails and may be retried. A Reader has no state of its own. Only one
// goroutine may use a Set.
package reconcile
