// Package parquetfile writes and reads the files of an archive, in Apache Parquet.
//
//	readings, sorted ── Builder ── File … File       a File is the body of one object
//	File ── Open ── Reader ── ReadGroup ── blocks    one block per series of a row group
//
// A file has one row per reading, sorted by series and time:
//
//	tenant stream device   strings
//	time                   nanoseconds, UTC
//	arrived                milliseconds, UTC
//	id                     string; null if it is the content id
//	fields                 a struct with one column per field
//	others                 JSON of the fields that have no column; null without such fields
//	decimals               digits after the point of each number; null if all are the shortest
//	version                integer; null for original readings; may be missing without corrections
//
// A column of numbers is DECIMAL(18, scale), or DECIMAL(38, scale) if a number needs it. Columns of
// strings, booleans and JSON have these types. A value has no column, and is in others, if:
//
//   - the first value of the field in the row group has another kind,
//   - no DECIMAL(38) can hold all numbers of the field, and this one does not fit DECIMAL(38, 18),
//   - a field with a column has the same name except for case, or the same field id,
//   - 400 other fields have columns.
//
// A row group has at most [GroupRows] rows by default. The first row group of a file and the
// previous file determine the types of its columns. If later rows do not fit, another file begins,
// with wider types. Each column has a field id, which depends on its name alone.
//
// [Builder] writes each [File], and [Reader] reads it. [DigestWriter] and [DigestReader] do the
// same for digests. A malformed file gives [ErrMalformed], never a panic. Only one goroutine may
// use a Builder.
package parquetfile
