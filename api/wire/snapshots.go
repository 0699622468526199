package wire

import "time"

// Snapshot describes a snapshot of the server's store. The snapshot exists as long as the request that
// made it.
type Snapshot struct {
	Dir     string    `json:"dir" doc:"its folder, on the server's machine"`
	Store   string    `json:"store" doc:"the id of the store"`
	Created time.Time `json:"created"`
	Version string    `json:"version" doc:"of the server"`
}

// SnapshotLine is one line of the answer to a request for a snapshot.
type SnapshotLine struct {
	Snapshot *Snapshot `json:"snapshot,omitempty" doc:"the snapshot; the first line"`
	Waiting  bool      `json:"waiting,omitempty" doc:"the snapshot still exists"`
	Error    string    `json:"error,omitempty" doc:"why the snapshot is deleted; the last line"`
}
