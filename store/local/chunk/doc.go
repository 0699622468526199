// Package chunk implements the compressed format for many readings of one series.
//
//	byte     version
//	uvarint  number of readings, n ≥ 1
//	varint   first event time, ns since 1970
//	uvarint  last event time - first
//	varint   last arrival, ms since 1970
//	ints     the uvarint step, then event times: (time - first) / step
//	byte     1 if arrivals are stored as arrival - event time in ms, otherwise 0
//	ints     arrivals
//	ids      byte 0 if every id is the content id; otherwise byte 1, and for each
//	         reading a kind byte and its hash, text or key
//	uvarint  number of fields
//	fields   name, presence, kinds, values; see column.go
//
// Each column has a packing for its contents: an "ints" column begins with the byte of its packing;
// see ints.go. A chunk of a device that sends every minute takes a few bytes per reading, and
// decodes in tens of nanoseconds per reading. The main types:
//
//   - [Builder] encodes a chunk, and [Chunk] is a decoded one.
//   - [Header] can be read without decoding the readings.
//   - [Arena] holds the fields of readings.
//
// Event times ascend, and ids break ties. A content id is not stored, but recomputed. Decoding
// checks each length: a damaged chunk gives [ErrDamaged], not a panic. A Chunk that was decoded
// cannot fail later. Only one goroutine at a time may use a Chunk or a Builder.
package chunk
