// Package dynamo is the store on Amazon DynamoDB, or anything that speaks its
// protocol. It is the only package that imports the AWS SDK.
//
// A table of Varve's is a table of DynamoDB's. A row holds the readings of one
// series in one millisecond:
//
//	series  (HASH)   acme/weather/sensor_01
//	ts      (RANGE)  1794916800000
//	_ids             {"Yx2…", "b81…"}            string set
//	temperature      {"Yx2…": 22.4, "b81…": 22.6}  one map id → value per field
//	_at              {"Yx2…": 1794916801.25, …}    arrival, seconds since 1970
//	_scale           {"Yx2…": {"temperature": 2}}  decimals, where DynamoDB drops zeros
//	_ttl             1797508801                  from when it may be deleted
//	_size            312                         bytes, once it was added to
//
// A stream may have rows of up to an hour; then keys begin with the millisecond
// in the row. docs/data-model.md has the form in full, and a test that it is so.
//
// Rows under the hash key #streams say how each stream in the table lies: they
// are written before its first reading, so that a lost registry loses nothing.
//
// # Writing
//
// At most two requests a row, and never torn: an id and all of its values
// appear in one request. First the row is put as if it were new, on the
// condition that it is not there; if it is, the answer brings what it holds.
// What is in it already is a duplicate; the rest goes into it by one update, on
// the condition that it still holds as many ids as were seen. Where rows are
// mostly found to be there, they are added to unseen first, on the condition
// that they have room, the maps that are needed, and none of the ids.
//
// # Rows that grow
//
// DynamoDB bills an update by the whole row, and a row ends at 400 KB. So a row
// that holds [closedBytes] is closed, and never changes again. What belongs to
// its window goes to one of nine rows below it, at ts + 0.1 to ts + 0.9, and
// below those at ts + 0.11 to ts + 0.99, and so on: chosen by the ninth of the
// window in which it happened, and when these are shorter than a millisecond by
// its key's hash. An id's way is the same for every writer, and it lies in the
// first row on its way that was not closed when it came: so a duplicate is found
// without looking anywhere else. A range query from ts to ts + 1 finds them all.
// The keys of closed rows that were met lately are remembered, so that the way
// down costs nothing the next time.
//
// Source: the row is that of the Fineo engineering post on time series in
// DynamoDB.
package dynamo
