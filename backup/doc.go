// Package backup copies snapshots of an embedded store to a folder or a bucket, and restores them.
//
//	PLACE/files/SHA256          a file of a snapshot, named by its content
//	PLACE/backups/TIME.json     a manifest: the files of one backup
//	PLACE/running/ID            a mark, which exists while a command changes the place
//
// A file is written once, and never changed or replaced. Most files of a snapshot are the same as in an
// earlier one, so a backup copies only the files that changed since the last one. Files whose name, size
// and time of modification equal those in the last manifest are not read. The manifest is written after
// all files were written and read back. So an interrupted backup has no manifest, and the next backup
// uses the files that it wrote.
//
// The main types are [Place], which stores backups in an [objectstore.Store], and [Manifest].
package backup
