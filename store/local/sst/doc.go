// Package sst reads single files of Pebble, also damaged ones.
//
// Pebble fails a read at a damaged block. This package skips the block and reports the range of
// keys that it may have held:
//
//	File ──▶ Scan: entries and Gaps ──▶ Merge: live entries ──▶ Writer ──▶ new files
//
// A [Merge] of several files returns the live entries of a range by the rules of Pebble: for
// each key, the entry with the highest sequence number. An intact entry is never skipped,
// and each [Gap] is as narrow as the damaged blocks allow. A file with an unreadable index
// cannot be opened.
package sst
