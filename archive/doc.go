// Package archive copies tables to files before they are dropped, and proves that the copies are
// complete.
//
//	table ── scan ──▶ files, digests ──▶ manifest ──▶ read back, recount ──▶ record "archived"
//
// The main types:
//
//   - [Archiver] archives tables, verifies archives, and deletes them after their retention.
//   - [Reader] reads a series from archives, by ranges of their files.
//   - [Manifest] lists the files of an archive, with their checksums.
//   - [Catalog] holds a [Record] for each table in the registry. [Merged] is an archive of several.
//   - [Acceptor] makes a record describe the stored archive, if an operator accepts its losses.
//
// The files are in an [objectstore.Store]: a folder or an S3 bucket. Package parquetfile has their
// format. These rules always hold:
//
//   - An object is never overwritten. A new attempt has new names.
//   - A record gets the state archived only after all files were read back, decoded and recounted.
//   - Before the end of the retention, only leftovers and replaced archives are deleted. Leftovers are files
//     of recorded attempts without a manifest. Merges and erasures replace archives.
//   - A merged archive is deleted only if each of its tables has another archive, or has expired.
//
// A failed call may be repeated. A process may die between any two steps: the next run completes
// the archive, or writes another. A read compares each range with its checksum, and fails if it
// differs. An erasure of an archive on hold fails with a [store.HoldError]. Archiver and Reader are
// safe for concurrent use. Only one goroutine may use a [SeriesReader].
package archive
