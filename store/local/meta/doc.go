// Package meta reads and writes the small files of the embedded store.
//
// A small file is a few lines of text with a checksum:
//
//	varve embedded store, format 2
//	store 0123456789abcdef0123456789abcdef
//	crc32c 89abcdef
//
// The last line is the CRC-32C of the lines before it. [Seal] adds this line, and [Unseal] verifies
// it. [Read] and [Write] access a file, and an [ID] identifies a store.
//
// A file is replaced as a whole, so it is never partially written. A crash may leave a temporary
// file: see [IsTemp]. Damage gives [ErrChecksum]. After a failed write, the file is the old or the
// new one.
package meta
