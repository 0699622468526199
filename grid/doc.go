// Package grid divides readings into tables, by event range and arrival month.
//
//	event time →              … 4 weeks │ 2 weeks │ week │ week │ week │ future
//	arrival month 2026-10          ▓    │    ▓    │  ▓   │  ▓   │      │
//	arrival month 2026-11          ▓    │    ▓    │  ▓   │  ▓   │  ▓   │  ▓
//
// A [Policy] maps an event time and an arrival [Month] to a [Table]. The name of a table contains
// all its parts, so a table can be parsed from its name. A query reads the tables that overlap
// its window.
//
//   - One cell is one table. The cells of one arrival month expire at about the same time.
//   - The event ranges of one arrival month partition time.
//   - All functions are pure: they use UTC, no clock and no I/O.
//
// The idea is from the Fineo post "Using DynamoDB for Time Series Data" (2017). Unlike in that
// post, weeks do not restart on 1 January and never overlap.
package grid
