package wire

import "time"

// ArchiveList lists the archives of all tables.
type ArchiveList struct {
	Archives []ArchiveInfo `json:"archives"`
	Location string        `json:"location,omitempty" doc:"the folder or bucket of the archives; missing if no archive is configured"`
}

// ArchiveInfo describes the archive of a table.
type ArchiveInfo struct {
	Table      string     `json:"table"`
	Class      string     `json:"class"`
	From       time.Time  `json:"from" doc:"first event time of the table"`
	To         time.Time  `json:"to" doc:"event time after the last one"`
	WriteMonth string     `json:"write_month" doc:"arrival month"`
	State      string     `json:"state" enum:"writing,archived,expiring" doc:"archived: the files were read back and recounted"`
	Readings   int64      `json:"readings"`
	Series     int64      `json:"series"`
	Bytes      int64      `json:"bytes" doc:"size of all files; of a merged archive, the share of the table's readings"`
	Files      int64      `json:"files" doc:"number of files with readings"`
	At         *time.Time `json:"at" doc:"when the table was last found equal to its archive; null before that"`
	Digest     string     `json:"digest,omitempty" doc:"sum of the hashes of all readings"`
	Directory  string     `json:"directory" doc:"prefix of the keys of its objects"`
	Manifest   string     `json:"manifest,omitempty" doc:"key of the manifest"`
	Merged     string     `json:"merged,omitempty" doc:"the merged archive that has the readings of the table, with other tables of its arrival month"`
	Hold       string     `json:"hold,omitempty" doc:"the reason for which the archive is kept after its retention"`
	Exists     bool       `json:"exists" doc:"the table is not dropped"`
}
