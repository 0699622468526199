// Package sst reads the files of Pebble one by one, damaged ones too.
//
// Pebble answers a read that meets a damaged block with an error. This package
// skips the block, reports the range of keys that it may have held as a [Gap],
// and goes on with the next block. A [Merge] of several files yields the live
// entries of a range by Pebble's rules: of one key, the entry with the highest
// sequence number counts. [Writer] writes them to new files.
package sst
