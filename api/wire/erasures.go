package wire

import "time"

// ErasurePlan lists the data of a device that an erasure would delete.
type ErasurePlan struct {
	ErasureTarget
	Arrived      time.Time      `json:"arrived" doc:"readings that arrived later are kept"`
	Readings     int64          `json:"readings" doc:"readings that are erased now"`
	Held         int64          `json:"held" doc:"readings in tables on hold: they are erased after the hold is released"`
	Tables       []ErasureCount `json:"tables" doc:"tables with readings"`
	Archives     []ErasureCount `json:"archives" doc:"archives with readings, counted in whole days and with any arrival: they are rewritten without the readings of the plan"`
	Rollups      int            `json:"rollups" doc:"stored roll-ups of hours; they are recomputed from the readings that stay"`
	Alerts       int            `json:"alerts"`
	Logs         int            `json:"logs" doc:"entries of the device's log"`
	Rejects      int            `json:"rejects"`
	Records      int            `json:"records" doc:"further records, such as last-seen times, deliveries and clock offsets"`
	Registration bool           `json:"registration" doc:"the device is registered, and is forgotten"`
	Digest       string         `json:"digest" doc:"identifies this plan; POST …/erasures takes it"`
}

// ErasureTarget is the data that an erasure covers.
type ErasureTarget struct {
	Tenant string     `json:"tenant"`
	Device string     `json:"device"`
	Stream string     `json:"stream,omitempty" doc:"absent: all streams, and the log of the device"`
	From   *time.Time `json:"from,omitempty" doc:"event time; absent: no limit"`
	To     *time.Time `json:"to,omitempty" doc:"event time, excluded; absent: no limit"`
}

// ErasureCount is a number of readings in one stream and one table or archive. ErasurePlan and
// ErasureBody have lists of such numbers.
type ErasureCount struct {
	Table    string `json:"table"`
	Stream   string `json:"stream"`
	Readings int64  `json:"readings"`
	Hold     string `json:"hold,omitempty" doc:"the reason of the hold for which the readings stay"`
}

// ErasureBody is the record of an erasure.
type ErasureBody struct {
	ID string `json:"id"`
	ErasureTarget
	State        string         `json:"state" enum:"erasing,settling,held,done" doc:"settling: nothing was found, and everything is read once more later; held: only tables on hold have readings"`
	By           string         `json:"by,omitempty" doc:"id of the API key"`
	Begun        time.Time      `json:"begun"`
	Arrived      time.Time      `json:"arrived" doc:"readings that arrived later are kept"`
	Next         *time.Time     `json:"next,omitempty" doc:"when the work continues"`
	Ended        *time.Time     `json:"ended,omitempty" doc:"when nothing was left"`
	Problem      string         `json:"problem,omitempty" doc:"of the last attempt, which is retried"`
	Passes       int            `json:"passes" doc:"how often all data was searched"`
	Planned      int64          `json:"planned" doc:"readings in the plan, without those on hold"`
	Readings     int64          `json:"readings" doc:"readings that were erased"`
	Erased       []ErasureCount `json:"erased" doc:"readings that were erased, by table"`
	Holds        []ErasureCount `json:"holds" doc:"readings in tables on hold, which stay until the release"`
	Rollups      int            `json:"rollups" doc:"roll-ups of hours that were removed"`
	Alerts       int            `json:"alerts"`
	Logs         int            `json:"logs"`
	Rejects      int            `json:"rejects"`
	Records      int            `json:"records"`
	Registration bool           `json:"registration" doc:"the device was forgotten"`
}

// ErasureList is a list of erasures, the latest first.
type ErasureList struct {
	Erasures []ErasureBody `json:"erasures"`
}
