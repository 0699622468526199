// Package export copies the readings of a stream from a server to files.
//
//	Run ─┬─ first    device by device, as of the settled time      ─┐
//	     └─ later    the changes that arrived since that time      ─┴─▶ output ─▶ files
//
// [Run] copies as its [Options] require, and returns its [Progress]. The [Format] of the files is
// NDJSON, CSV or Parquet, and upload reads all of them.
//
// Each run adds files to a folder. With a state file, a run continues where the last one ended: so
// all runs together copy each reading once.
//
// The state is saved after a file is complete. If a run fails or is interrupted, the next one
// replaces the file that was being written. A run is refused while another one copies the stream
// to the same folder. On systems without flock, the caller must make sure of that.
package export
