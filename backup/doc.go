// Package backup copies snapshots of an embedded store to a folder or a bucket, and restores them.
//
//	PLACE/files/SHA256          a file of a snapshot, named by its content
//	PLACE/backups/TIME.json     a manifest: the files of one backup
//	PLACE/running/TIME-ID       a mark, which exists while a command changes the place
//
// The main types:
//
//   - [Place] stores backups in an [objectstore.Store], verifies, prunes and restores them.
//   - [Manifest] lists the files of a backup.
//   - [Snapshot] describes the folder to copy, and [Report] the result.
//
// These rules always hold:
//
//   - An intact file is written once, and never changed or replaced. Most files of a snapshot are the same as
//     in an earlier one, so a backup copies only the changed files. Files whose name, size and time of
//     modification equal those in the last manifest are not read.
//   - The manifest is written after all files were written and read back. So an interrupted backup
//     has no manifest, and the next backup uses the files that it wrote.
//   - A folder in which a restore was interrupted cannot be served: see [Place.Restore].
//
// A damaged snapshot is backed up, too, and its manifest names the damage. [Place.Prune] deletes
// nothing if a manifest cannot be read. A failed call may be repeated. Several processes may use a
// place, but only one at a time makes or prunes backups, if their clocks differ by at most ten minutes.
package backup
