package wire

import "time"

// ArrivalsBody has the numbers of readings of one tenant that arrived at a process.
type ArrivalsBody struct {
	Since   time.Time        `json:"since" doc:"start of counting"`
	Minutes []ArrivalsMinute `json:"minutes" doc:"the last hour, oldest first; the last minute is not over yet"`
	Bounds  []int64          `json:"bounds" doc:"upper bounds of the lag in seconds, exclusive; below the first, the event time is after the arrival"`
	Streams []ArrivalsStream `json:"streams" doc:"by name"`
}

// ArrivalCounts are numbers of readings by verdict.
type ArrivalCounts struct {
	Stored     int64 `json:"stored"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
}

// ArrivalsMinute has the numbers of readings of one minute.
type ArrivalsMinute struct {
	At time.Time `json:"at" doc:"beginning of the minute"`
	ArrivalCounts
}

// ArrivalsStream has the numbers of readings of one stream.
type ArrivalsStream struct {
	Stream string `json:"stream" doc:"empty: streams that are not counted one by one, and rejected readings of streams that do not exist"`
	ArrivalCounts
	Lag []int64 `json:"lag" doc:"stored readings by lag: one number for each bound, and one for longer lags"`
}
