// Package meta reads and writes the embedded store's small files: a few lines
// of text with a checksum, replaced as a whole, so that none is ever half
// written and damage to one is found.
//
//	varve embedded store, format 2
//	store 0123456789abcdef0123456789abcdef
//	crc32c 89abcdef
//
// The last line is the CRC-32C of the lines before it.
package meta
