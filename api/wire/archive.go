package wire

import (
	"time"

	"github.com/varvedb/varve"
)

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

	Unrecorded []UnrecordedFile `json:"unrecorded,omitempty" doc:"only after a verification: objects in the folders of the archive that no record names; none is deleted"`
}

// UnrecordedFile is an object in the folders of an archive. No record names the object.
type UnrecordedFile struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
}

// UnrecordedError is the failure to verify an archive, with the unrecorded files in its folders.
type UnrecordedError struct {
	Err   *varve.Error
	Files []UnrecordedFile
}

func (e *UnrecordedError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// AcceptPlan is a plan to change the record of a table so that it describes the stored archive.
type AcceptPlan struct {
	Table       string         `json:"table"`
	Exists      bool           `json:"exists" doc:"the table is not dropped; an acceptance changes nothing in it"`
	Hold        string         `json:"hold,omitempty" doc:"the reason of a hold on the archive or the table; if the stored archive differs from the record, the hold must be released first"`
	Whole       bool           `json:"whole" doc:"the archive equals its record: nothing to accept"`
	Recorded    ArchiveCounts  `json:"recorded" doc:"the present record; without a manifest if the table has none"`
	Accepted    ArchiveCounts  `json:"accepted" doc:"the record after the acceptance"`
	Merged      string         `json:"merged,omitempty" doc:"the merged archive that has the readings of the table"`
	Erased      int64          `json:"erased" doc:"readings of the record that erasures have removed, as the stored manifest states"`
	Unexplained int64          `json:"unexplained" doc:"readings of the record that the stored archive lacks for an unknown reason"`
	Added       int64          `json:"added" doc:"readings of the stored archive that the record lacks"`
	Rewrite     bool           `json:"rewrite" doc:"files are damaged, so that the readable readings are copied into another archive"`
	Damaged     []DamagedFile  `json:"damaged" doc:"files that are missing or damaged; none is deleted"`
	Missing     MissingCounts  `json:"missing" doc:"readings that the record will lack, and that no erasure has removed"`
	Changed     MissingCounts  `json:"changed" doc:"further days on which the record or another archive has other readings; counts these other readings"`
	DaysUnknown bool           `json:"days_unknown" doc:"readings may be missing, and the digests with their series and days are lost"`
	Others      []OtherArchive `json:"others" doc:"other stored archives of the table, unless they have the same readings or an erasure has replaced them"`
	InTable     *MissingCounts `json:"in_table,omitempty" doc:"readings that only the table has; missing if the table does not exist"`
	Digest      string         `json:"digest" doc:"identifies the plan"`
}

// ArchiveCounts counts the readings of an archive.
type ArchiveCounts struct {
	Manifest string `json:"manifest,omitempty" doc:"key of the manifest"`
	Readings int64  `json:"readings"`
	Series   int64  `json:"series"`
}

// OtherArchive is a stored archive of the table. The plan does not accept this archive.
type OtherArchive struct {
	Manifest string `json:"manifest" doc:"key of the manifest"`
	Readings int64  `json:"readings"`
	Series   int64  `json:"series"`
	Problem  string `json:"problem,omitempty" doc:"why the archive cannot be compared; it may have readings that the record will lack"`
}

// DamagedFile is a missing or damaged file of an archive.
type DamagedFile struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// MissingCounts counts missing readings by series and day.
type MissingCounts struct {
	Readings int64        `json:"readings"`
	Series   int64        `json:"series"`
	Days     int64        `json:"days" doc:"pairs of series and day; list has the first 10,000"`
	List     []MissingDay `json:"list"`
}

// MissingDay counts the missing readings of a series and a day.
type MissingDay struct {
	Tenant   string `json:"tenant"`
	Stream   string `json:"stream"`
	Device   string `json:"device"`
	Day      string `json:"day" doc:"the UTC day, as in 2026-04-01"`
	Readings int64  `json:"readings"`
}
