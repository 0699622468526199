// Package block represents readings of one series as columns, without a struct for each reading.
//
//	chunk ──decode──▶ Block ──Part──▶ query ──▶ wire ──▶ JSON, NDJSON, CSV
//
// The main types:
//
//   - [Block] has the times, arrivals, ids and fields of readings in the order of their positions.
//   - [Part] is a range of a block's readings in the order of a query.
//   - [Column] has the values of one field. [Numbers] summarizes the numbers of a column in a range.
//   - [Forms] computes the content ids, which a block does not store.
//
// A block's columns are checked when the block is made, before their numbers are decoded. So the
// methods of a column cannot fail. Only one goroutine at a time may use a Block, because the first
// use of a column may decode its numbers.
package block
