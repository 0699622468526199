package wire

import (
	"encoding/json"
	"time"

	"github.com/varvedb/varve/query"
)

// ReadingBody is a reading in an answer.
type ReadingBody struct {
	Time    string         `json:"time" format:"date-time" doc:"event time, UTC, to the nanosecond"`
	ID      string         `json:"id" doc:"separates readings of one device and time"`
	Version uint32         `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"the version of a correction; absent if the reading is the original"`
	Arrived string         `json:"arrived" format:"date-time" doc:"when Varve took it in, UTC, to the millisecond"`
	Fields  map[string]any `json:"fields" doc:"numbers (exact, up to 38 digits), strings, booleans, JSON"`
}

// ReadingsBody is a page of readings.
type ReadingsBody struct {
	Readings []ReadingBody  `json:"readings"`
	Next     string         `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
	Coverage query.Coverage `json:"coverage,omitzero" doc:"the tables on which the answer rests; only for keys of the tenant default"`
	Notes    []Note         `json:"notes,omitempty" doc:"requested fields that no reading of the answer has"`
}

// ColumnsBody is a page of readings as columns of equal length.
type ColumnsBody struct {
	Time     []string         `json:"time" doc:"event times"`
	ID       []string         `json:"id"`
	Version  []any            `json:"version,omitempty" doc:"versions, null for original readings; absent if all are"`
	Arrived  []string         `json:"arrived"`
	Fields   map[string][]any `json:"fields" doc:"an array for each field; null for a reading without the field"`
	Next     string           `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
	Coverage query.Coverage   `json:"coverage,omitzero" doc:"the tables on which the answer rests; only for keys of the tenant default"`
	Notes    []Note           `json:"notes,omitempty" doc:"requested fields that no reading of the answer has"`
}

// LatestBody is the latest reading of a device.
type LatestBody struct {
	Reading  ReadingBody    `json:"reading"`
	Coverage query.Coverage `json:"coverage,omitzero"`
	Notes    []Note         `json:"notes,omitempty" doc:"requested names that do not exist"`
}

// LatestOfManyBody has the latest readings of several devices, in the order of the request. For a
// whole stream, it is one page, in the order of the devices' names.
type LatestOfManyBody struct {
	Latest []LatestOfOne `json:"latest"`
	Next   string        `json:"next,omitempty" doc:"of a whole stream: the cursor of the next page; absent at the end"`
	Notes  []Note        `json:"notes,omitempty" doc:"requested names that do not exist"`
}

// LatestOfOne is the latest reading of one device.
type LatestOfOne struct {
	Device   string         `json:"device"`
	Reading  *ReadingBody   `json:"reading" doc:"null if the device has no live reading"`
	Coverage query.Coverage `json:"coverage,omitzero"`
}

// SubmittedReading is a reading in a request.
type SubmittedReading struct {
	Device string `json:"device,omitempty" doc:"1 to 256 bytes; optional if the parameter device is given"`
	Time   any    `json:"time" doc:"RFC 3339, or a number since 1970 in the precision"`
	ID     string `json:"id,omitempty" doc:"optional; without one, the same values at the same time are the same reading"`
	// Version is the version of a correction. The correction supersedes readings with the same time and id
	// and a lower version.
	Version uint32         `json:"version,omitempty" maximum:"2147483647" doc:"of a correction: supersedes the reading with the same time and id and a lower version; requires id"`
	Fields  map[string]any `json:"fields" doc:"1 to 256 values; null equals absent"`
}

// MaxRejects is the maximum number of rejections that a WriteAnswer lists.
const MaxRejects = 10_000

// WriteAnswer has the verdicts on a body of readings.
type WriteAnswer struct {
	Stored     int64    `json:"stored"`
	Duplicates int64    `json:"duplicates"`
	Rejected   int64    `json:"rejected"`
	Queued     int64    `json:"queued,omitempty" doc:"readings on the disk of an agent, which will send them; only agents return it"`
	Rejects    []Reject `json:"rejects"`
	// SkippedCells is the number of invalid cells that were omitted because of bad_cells=skip.
	SkippedCells int64 `json:"skipped_cells,omitempty" doc:"with bad_cells=skip: cells of stored rows that were omitted"`
	// TextNumbers is the number of cells that look like numbers, such as 1,50, and were read as text.
	TextNumbers int64 `json:"text_numbers,omitempty" doc:"in CSV: cells that look like numbers, as 1,50, and were read as text; see decimal and types"`
	Truncated   bool  `json:"truncated,omitempty" doc:"the list is incomplete"`
}

// Reject describes a rejected reading of a request, with the reason.
type Reject struct {
	Index   int64  `json:"index" doc:"of the reading in the body, from 0"`
	Line    int64  `json:"line,omitempty" doc:"the first line of the reading, in NDJSON and CSV"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Stored has the fields of the reading that is stored under the same id.
	Stored json.RawMessage `json:"stored,omitempty" doc:"of a conflict: the stored fields, if they have at most 1 KiB"`
}

// TableInfo describes a table.
type TableInfo struct {
	Name       string     `json:"name"`
	Class      string     `json:"class,omitempty" doc:"retention class; empty if none is configured for the prefix"`
	From       time.Time  `json:"from" doc:"beginning of its event range"`
	To         time.Time  `json:"to" doc:"end of its event range, exclusive"`
	WriteMonth string     `json:"write_month" doc:"month in which its readings arrived"`
	State      string     `json:"state" enum:"ahead,open,sealed,retired"`
	Tier       string     `json:"tier" enum:"hot,warm,cold,none"`
	Readings   int64      `json:"readings"`
	Bytes      int64      `json:"bytes" doc:"approximately, on disk or billed"`
	Hold       string     `json:"hold,omitempty" doc:"the reason for which it must not be dropped"`
	Seals      time.Time  `json:"seals"`
	Retires    *time.Time `json:"retires" doc:"when all its readings have expired and it is marked for deletion; null means never"`
	Drops      *time.Time `json:"drops" doc:"when it is dropped; null means never"`
	Why        string     `json:"why" doc:"why it is dropped then, or not"`
	Archived   *time.Time `json:"archived,omitempty" doc:"when it was archived; missing without an archive"`
}

// TableList lists the tables of the grid.
type TableList struct {
	Tables []TableInfo `json:"tables"`
	Bound  *int        `json:"bound" doc:"maximum number of tables under this policy, if no run is missed for 20 days; null means no limit, because tables are not dropped"`
}

// PlanAction is one action of a plan.
type PlanAction struct {
	Action   string `json:"action" enum:"create,tune,restore,retire,drop"`
	Table    string `json:"table"`
	Tier     string `json:"tier,omitempty"`
	Reason   string `json:"reason"`
	Readings int64  `json:"readings"`
	Bytes    int64  `json:"bytes"`
}

// PlanSkipped is a table that the plan does not change although a change may be expected, and the reason.
type PlanSkipped struct {
	Table    string `json:"table"`
	Reason   string `json:"reason"`
	Readings int64  `json:"readings"`
	Bytes    int64  `json:"bytes"`
}

// PlanBody is a plan of the rotator, or a plan that it applied.
type PlanBody struct {
	At      time.Time     `json:"at"`
	Actions []PlanAction  `json:"actions"`
	Skipped []PlanSkipped `json:"skipped" doc:"tables without an action although one may be expected, and the reason"`
	Tables  int           `json:"tables"`
	Ready   int           `json:"ready" doc:"number of existing tables of the next month"`
	Needed  int           `json:"needed" doc:"number of required tables of the next month"`
	// Digest identifies the actions.
	Digest   string   `json:"digest" doc:"identifies the actions: send it as plan to POST /v1/tables/apply"`
	Warnings []string `json:"warnings" doc:"limits of the account that will be reached within a year"`
}

// StreamInfo describes a stream.
type StreamInfo struct {
	Name    string   `json:"name"`
	Class   string   `json:"class" doc:"retention class into whose tables it is written"`
	Classes []string `json:"classes" doc:"all classes into whose tables it was ever written"`
	// RowWindow is a multiple of every row window that the stream had, so that all its rows are found.
	RowWindow string         `json:"row_window" doc:"on DynamoDB: the longest time that a row covers"`
	Shards    map[string]int `json:"shards,omitempty" doc:"on DynamoDB: devices whose readings are spread, and over how many keys"`
	Archive   bool           `json:"archive,omitempty" doc:"whether queries without the parameter archive also read archived tables"`
	Notes     []Note         `json:"notes,omitempty" doc:"names that do not exist; only in the answer to a change"`
}

// StreamList lists the streams of a tenant.
type StreamList struct {
	Streams []StreamInfo `json:"streams"`
}

// Explained is the explanation of a query.
type Explained struct {
	Tables   []ExplainedTable `json:"tables" doc:"in the order in which the query reads them"`
	Requests int              `json:"requests" doc:"requests to the store, if the query is read to its end"`
	Units    float64          `json:"units" doc:"read units; on the embedded store, chunks"`
	Expiry   *query.Expiry    `json:"expiry,omitempty" doc:"the part of the window whose readings have expired; absent if none"`
}

// ExplainedTable describes one table of an Explained.
type ExplainedTable struct {
	query.PlannedTable
	WriteMonth string  `json:"write_month"`
	Requests   int     `json:"requests"`
	Units      float64 `json:"units"`
}

// Ready is the answer of /readyz to requests that may not read in varve.DefaultTenant.
type Ready struct {
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
}

// Readiness is the full answer of /readyz.
type Readiness struct {
	Ready bool `json:"ready"`
	// Why is the reason for which the service is not ready.
	Why string `json:"why,omitempty"`
	// TablesReadyAhead counts the existing tables of the months ahead. TablesNeededAhead counts the
	// required ones.
	TablesReadyAhead  int `json:"tables_ready_ahead"`
	TablesNeededAhead int `json:"tables_needed_ahead"`
	// LastRotation is the end of the last successful rotation. If nil, none has succeeded yet.
	LastRotation  *time.Time `json:"last_rotation"`
	RotationError string     `json:"rotation_error,omitempty"`
	Version       string     `json:"version"`
	// Conditions are the current conditions.
	Conditions []Condition `json:"conditions"`
}

// Condition is a state that impairs the service.
type Condition struct {
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Message string    `json:"message"`
}
