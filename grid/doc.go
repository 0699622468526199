// Package grid is the grid: it maps an event time and the month of its
// arrival to a table, a table to its name and back, and a window of event time
// to the tables that can hold it.
//
//	event time →        … 4 weeks │ 2 weeks │ week │ week │ week │ future
//	written in 2026-10       ▓    │    ▓    │  ▓   │  ▓   │      │
//	written in 2026-11       ▓    │    ▓    │  ▓   │  ▓   │  ▓   │  ▓
//
// One cell is one table. A row of cells, one write month, is dropped at once
// when it has aged out. The event ranges of one write month partition time.
//
// Everything here is pure: UTC, no I/O, no clock. The idea of grouping tables
// by event time and by month of arrival is from the Fineo post "Using DynamoDB
// for Time Series Data" (2017); unlike Fineo's, these weeks never restart on
// 1 January and never overlap.
package grid
