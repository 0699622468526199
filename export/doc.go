// Package export copies the readings of a stream from a server to files.
//
//	Run ─┬─ first    device by device, as of the settled time      ─┐
//	     └─ later    the changes that arrived since that time      ─┴─▶ output ─▶ files
//
// Each run adds files to a folder. With a state file, a run continues where the last one ended: so all
// runs together copy each reading once. The files are in one of the formats NDJSON, CSV and Parquet,
// and upload reads all of them.
//
// The state is saved after a file is complete. If a run is interrupted, the next one replaces the file
// that was being written.
package export
