// Package sst reads single files of Pebble, even if they are damaged, and writes new ones.
//
//	File ──▶ Scan: entries and Holes ──▶ Merge: newest entries ──▶ Writer ──▶ new files
//
// Pebble fails a read at a damaged data block of a file. This package skips the block and reports
// the range of keys that may have been in it. The main types:
//
//   - [File] is one file, and [Scan] returns its entries in order.
//   - [Hole] is a range of keys that a file may have lost.
//   - [Merge] returns the newest entry of each key of several files.
//   - [Writer] writes entries to new files for ingestion by Pebble.
//
// These rules always hold:
//
//   - A Merge follows the rules of Pebble. For each key, it returns the entry with the highest
//     sequence number, which may be a deletion.
//   - An entry in an intact block is never skipped, and each Hole is as narrow as the damage
//     allows.
//
// A file cannot be opened if the footer or the top level of its index is unreadable. No method
// changes an existing file. Only one goroutine at a time may use a File, its scans and its merges.
package sst
