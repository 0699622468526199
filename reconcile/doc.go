// Package reconcile finds the periods in which two sets of readings of one series differ, without
// sending the readings.
//
//	reading ──HashOf──▶ 128 bits ──Add──▶ Digest of a period
//
//	Set            the hashes of the readings that a sender has, by period
//	Reader         computes the digests of the store's readings, by period
//	Reader.Differ  compares the digests of a sender with the digests of the store
//
// A [Digest] is the sum of the hashes of distinct readings. So it does not depend on their order, and
// the digest of a day is the sum of its hours. docs/reconciliation.md has the algorithm and test
// vectors for senders in other languages.
package reconcile
