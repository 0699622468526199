// Package block holds readings of one series as columns, so that an answer is written without a
// struct for each reading.
//
//	chunk ──decode──▶ Block ──Part──▶ query ──▶ wire ──▶ JSON, NDJSON, CSV
//
// A [Block] has the times, arrivals, ids and fields of readings in the order of their positions.
// A [Part] is a range of its rows in the order of a query. [Forms] computes content ids, which a
// block does not hold, from the columns.
//
// A column is complete and valid: all checks are made when it is decoded. So no method fails.
package block
