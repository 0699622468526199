// Package aggregate computes functions of readings in buckets of any step.
//
//	Step      divides event time into buckets, in UTC or in a time zone
//	Function  is one result per bucket and field: mean, p99, stddev, …
//	series    receives readings in order, and returns one row per bucket
//	fill      adds rows for the buckets without readings
//	Engine    reads the readings or the roll-ups of one or more devices
//
// The first four parts are pure: they do no I/O, and do not depend on the source of the readings.
// The main types:
//
//   - [Engine] computes the [Answer] to a [Query], and counts readings.
//   - [Step] divides event time into buckets. Each [Bucket] has one result per [Function] and field.
//   - [Fill] is the rule for buckets without readings, and [Source] selects readings or roll-ups.
//
// These rules always hold:
//
//   - Counts, sums, minima, maxima, first and last values and percentiles are exact.
//   - Means and deviations are rounded once, from exact sums.
//   - A bucket includes only readings inside the window, even if the window cuts the bucket.
//   - Only numbers enter the functions, except count, which counts all values. Field.Ignored is the
//     number of values that are not numbers.
//
// If a query is invalid or exceeds a limit such as [MaxValues], the error has the kind
// [varve.Invalid]. If the read of one device fails, the whole query fails, and may be retried. So
// an answer is complete, except for damaged rows that the query skips, and tables that the coverage
// lists as missing. An Engine is safe for concurrent use.
package aggregate
