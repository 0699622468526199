// Package rejects stores rejected readings, so that they can be listed and replayed.
//
//	session ──▶ Registry.Offer ──▶ buffer ──▶ one writer ──▶ items      best effort, bounded
//	        └─▶ Registry.Add  ─────────────────────────────▶ items      durable when it returns
//
// The main types:
//
//   - [Reject] is a rejected reading: its text, its sender and its verdict.
//   - [Registry] stores, lists and deletes rejects.
//   - [Query] selects rejects, and [Counts] has the numbers of stored and dropped ones.
//
// These rules always hold:
//
//   - The id of a reject is computed from its content. So a device that resends the same invalid
//     reading for a month has one reject, with the number of its arrivals.
//   - The number of rejects is bounded per stream and per tenant, and so are the buffer and the
//     rate of its background writes. A reject beyond a bound is dropped and counted.
//   - [Registry.Offer] never waits, so it does not delay readings. [Registry.Add] waits until the
//     store has the rejects.
//
// If the store fails, Add fails and may be retried. The background writer retries until the process
// ends. A crash loses the rejects in the buffer. A Registry is safe for concurrent use, and a nil
// one stores nothing.
package rejects
