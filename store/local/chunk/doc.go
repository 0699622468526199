// Package chunk is the embedded store's form for many readings of one series:
// a column of event times, one of arrivals, one of ids and one for each field,
// each packed by what it holds. A chunk of minute readings takes a few bytes a
// reading and is decoded at tens of nanoseconds a reading.
//
//	byte     version
//	uvarint  number of readings, n ≥ 1
//	varint   first event time, ns since 1970
//	uvarint  last event time - first
//	varint   last arrival, ms since 1970
//	ints     event times: (time - first) / step, behind the uvarint step
//	byte     1 if arrivals are kept as arrival - event time in ms, else 0
//	ints     arrivals
//	ids      a byte 0 if every id is the content's; else a kind byte for each
//	         reading, then the hashes and texts
//	uvarint  number of fields
//	fields   name, presence, kinds, values; see column.go
//
// An "ints" column begins with the byte of its packing; see ints.go. Event
// times are in ascending order, ids break ties. An id equal to the reading's
// content id is not stored: it is computed again.
//
// Decoding never trusts a length: a damaged chunk is an error, not a panic.
package chunk
