// Package arrivals counts the readings that arrived at a process, by verdict and lag.
//
//	ingest ─ verdicts ──▶ Counter.Add ──▶ Counter.Report(tenant)
//
// The lag of a reading is the time from its event to its arrival. The main types:
//
//   - [Counter] counts by stream since the start of the process, and by minute for the last hour.
//   - [Report] has the counts of one tenant.
//   - [Stream] has the counts of one stream, with its lags in the buckets of [Bounds].
//
// These rules always hold:
//
//   - A report has the readings of one tenant only.
//   - A reading without a verdict is not counted. A rejected reading does not add a stream, because
//     the name of its stream may be any text.
//   - At most 1,000 streams of all tenants are counted one by one. The others share the name "".
//
// The counts live in memory only, so a restart begins at 0. Tables and roll-ups have the exact
// numbers of stored readings. No method fails, and a Counter is safe for concurrent use.
package arrivals
