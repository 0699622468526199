// Package block represents readings of one series as columns, so that answers are written without a
// struct for each reading.
//
//	chunk ──decode──▶ Block ──Part──▶ query ──▶ wire ──▶ JSON, NDJSON, CSV
//
// A [Block] has the times, arrivals, ids and fields of readings in the order of their positions.
// A [Part] is a range of its readings in the order of a query. A block does not store content ids;
// [Forms] computes them from the columns.
//
// A block's columns are checked when the block is made, before their numbers are decoded. So the
// methods of a column cannot fail.
package block
