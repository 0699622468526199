package wire

import "time"

// RejectBody is a stored reject.
type RejectBody struct {
	ID         string     `json:"id"`
	Stream     string     `json:"stream,omitempty" doc:"absent if the name was invalid"`
	Device     string     `json:"device,omitempty" doc:"absent if the name was invalid or is unknown"`
	Door       string     `json:"door,omitempty" doc:"the protocol through which it arrived, such as http"`
	From       string     `json:"from,omitempty" doc:"the API key, topic or file that sent it"`
	First      time.Time  `json:"first" doc:"the first arrival"`
	Last       time.Time  `json:"last" doc:"the last arrival"`
	Times      int64      `json:"times" doc:"how often it arrived"`
	Time       *time.Time `json:"time,omitempty" doc:"the event time, if it could be read"`
	Code       string     `json:"code" doc:"the verdict"`
	Message    string     `json:"message"`
	Format     string     `json:"format,omitempty" doc:"of the text: json, ndjson, csv or line"`
	Options    string     `json:"options,omitempty" doc:"the parameters with which it was sent, as the query of a URL"`
	Header     string     `json:"header,omitempty" doc:"the first row of its CSV body"`
	Text       string     `json:"text,omitempty" doc:"the reading as it arrived"`
	Base64     string     `json:"base64,omitempty" doc:"instead of text, if the bytes are not UTF-8"`
	Cut        bool       `json:"cut,omitempty" doc:"the text is only the beginning"`
	Replayable bool       `json:"replayable" doc:"false if the text is not complete, or the stream is unknown"`
}

// RejectList is a page of rejects.
type RejectList struct {
	Rejects []RejectBody `json:"rejects"`
	Next    string       `json:"next,omitempty" doc:"the cursor of the next page; absent at the end"`
	Notes   []Note       `json:"notes,omitempty" doc:"if no reject is found, requested names that do not exist"`
}

// ReplayOptions has the options with which the text of a reject is reread.
type ReplayOptions struct {
	Precision string `json:"precision,omitempty" enum:"s,ms,us,ns" doc:"unit of numeric times; default: as it was sent"`
	Shift     string `json:"shift,omitempty" doc:"a duration that is added to event times, as in -2h or 1d"`
	Device    string `json:"device,omitempty" doc:"replaces the device"`
	Time      string `json:"time,omitempty" enum:"sent,arrival" doc:"arrival replaces the event time by the first arrival; default sent"`
	DryRun    bool   `json:"dry_run,omitempty" doc:"only check the readings: store and delete nothing"`
}

// RejectSelection selects the rejects that match all fields that are set.
type RejectSelection struct {
	Stream string `json:"stream,omitempty"`
	Device string `json:"device,omitempty"`
	Code   string `json:"code,omitempty"`
	Door   string `json:"door,omitempty"`
	Since  string `json:"since,omitempty" doc:"last arrival not before: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo"`
	From   string `json:"from,omitempty" doc:"the same as since"`
	To     string `json:"to,omitempty" doc:"last arrival before: as since"`
	During string `json:"during,omitempty" doc:"instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12"`
}

// ReplayRequest is the body of a request to replay many rejects.
type ReplayRequest struct {
	Select RejectSelection `json:"select"`
	ReplayOptions
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"maximum number in one request; default 100"`
	Cursor string `json:"cursor,omitempty" doc:"next of the answer before; the selection must be the same"`
}

// ReplayAnswer is the result of a replay.
type ReplayAnswer struct {
	Rejects    int64           `json:"rejects" doc:"rejects that were read"`
	Stored     int64           `json:"stored" doc:"readings"`
	Duplicates int64           `json:"duplicates" doc:"readings that were stored before"`
	Rejected   int64           `json:"rejected" doc:"readings; their rejects stay"`
	Valid      int64           `json:"valid,omitempty" doc:"of a dry run: readings that can be stored"`
	Skipped    int64           `json:"skipped,omitempty" doc:"rejects that cannot be replayed; they stay"`
	Deleted    int64           `json:"deleted" doc:"rejects whose readings are all stored"`
	Problems   []ReplayProblem `json:"problems,omitempty" doc:"the first 100"`
	Next       string          `json:"next,omitempty" doc:"the cursor of the next request; absent at the end"`
}

// ReplayProblem is the reason for which a reject stays.
type ReplayProblem struct {
	ID      string `json:"id"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// DeletedRejects is the answer to a request to delete rejects.
type DeletedRejects struct {
	Deleted int64  `json:"deleted"`
	Next    string `json:"next,omitempty" doc:"the cursor of the next request; absent at the end"`
}
