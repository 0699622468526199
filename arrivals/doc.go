// Package arrivals counts the readings that arrived at a process: by minute, stream, verdict and
// lag. The lag of a reading is the time from its event to its arrival.
//
//	ingest ─ verdicts ──▶ Counter.Add ──▶ Counter.Report(tenant)
//
// The main types:
//
//   - Counter counts by stream from the start of the process on, and by minute for the last hour. It is
//     safe for concurrent use.
//   - Report has the counts of one tenant.
//
// The counts live in memory only. Tables and roll-ups have the exact numbers of stored readings.
package arrivals
