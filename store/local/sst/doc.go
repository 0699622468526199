// Package sst reads single files of Pebble, even if they are damaged, and writes new ones.
//
// Pebble fails a read at a damaged data block of a file. This package skips the block and reports
// the range of keys that may have been in it:
//
//	File ──▶ Scan: entries and Holes ──▶ Merge: newest entries ──▶ Writer ──▶ new files
//
// A [Merge] of several files follows the rules of Pebble. For each key, it returns the entry with
// the highest sequence number, which may be a deletion. An entry in an intact block is never skipped,
// and each [Hole] is as narrow as the damage allows. A file cannot be opened if the top level of its
// index is unreadable.
package sst
