// Package prometheus answers PromQL queries from stored readings and roll-ups.
//
//	query ──parse──▶ rewrite ──▶ promql.Engine ──Select──▶ querier
//	                                                         ├─ readings  columns become samples
//	                                                         └─ roll-ups  one sample a step
//
// In this package, a series is a series of PromQL: one field of one device in one stream. Its
// labels are __name__ (the field), stream, device, and the attributes with which the device is
// registered. A step is one of the regular times at which a range query is evaluated, or the time
// between two of them.
//
// The main types and functions:
//
//   - [Engine] evaluates queries for one tenant at a time.
//   - [Query] is one query, and [Result] can append itself as JSON in the form of Prometheus.
//   - [Engine.Series], [Engine.LabelNames] and [Engine.LabelValues] describe series.
//
// These rules always hold:
//
//   - A selector names streams or devices, and selects at most Options.MaxSeries series.
//   - Only numbers are samples. The sample is the float nearest to the stored decimal number.
//   - Of several readings in one millisecond, the last one by position is the sample.
//   - Aggregates over whole hours come from roll-ups where start, step and offset permit it.
//
// A failed query returns an [Error] with the kind that Prometheus reports. A query above a limit
// fails. Only an explicit limit cuts its result, with a warning, and a list may be cut, too. An
// Engine is safe for concurrent use.
package prometheus
