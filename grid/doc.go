// Package grid divides readings into tables, by event range and arrival month.
//
//	event time →              … 4 weeks │ 2 weeks │ week │ week │ week │ future
//	arrival month 2026-10          ▓    │    ▓    │  ▓   │  ▓   │      │
//	arrival month 2026-11          ▓    │    ▓    │  ▓   │  ▓   │  ▓   │  ▓
//
// The main types and functions:
//
//   - [Policy] maps an event time and an arrival month to a range.
//   - [Month] is a calendar month in UTC, and [Range] a half-open range of event time.
//   - [Table] is one cell. Its name contains all its parts, and [Parse] returns the table of a
//     name.
//
// These rules always hold:
//
//   - One cell is one table. The cells of one class and arrival month expire at about the same time.
//   - The event ranges of one arrival month partition time, so a reading has exactly one table. A
//     query reads the tables that overlap its window.
//   - A table stays readable after a change of the policy, because its name has its range.
//   - All functions are pure: they use UTC, no clock and no I/O.
//
// [Policy.Locate] returns false for an event time outside the grid, and Parse for a foreign name.
// [Policy.Validate] and [ValidatePrefix] report invalid configurations.
//
// The idea is from the Fineo post "Using DynamoDB for Time Series Data" (2017). Unlike in that
// post, weeks do not restart on 1 January and never overlap.
package grid
