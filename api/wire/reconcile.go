package wire

import "time"

// DigestsBody has the digests of the readings of a device, by period.
type DigestsBody struct {
	Period       string       `json:"period" enum:"hourly,daily"`
	Periods      []DigestBody `json:"periods" doc:"the periods with readings, in order"`
	Readings     int64        `json:"readings" doc:"number of distinct readings in the window"`
	Digest       string       `json:"digest" doc:"digest of all of them"`
	CompleteFrom time.Time    `json:"complete_from" doc:"event time from which no reading has expired; earlier readings may be missing"`
	Receipt      string       `json:"receipt,omitempty" doc:"the signed statement, if receipt=true"`
}

// DigestBody is the digest of one period.
type DigestBody struct {
	Start    string `json:"start" doc:"start of the period in UTC"`
	Readings int64  `json:"readings"`
	Digest   string `json:"digest" doc:"16 bytes in base64 for URLs; see docs/reconciliation.md"`
}

// DigestsPost has the digests of a sender.
type DigestsPost struct {
	Period string        `json:"period" enum:"hourly,daily"`
	Spans  []DigestsSpan `json:"spans" minItems:"1" maxItems:"10000"`
}

// DigestsSpan has the digests of consecutive periods.
type DigestsSpan struct {
	From    time.Time `json:"from" doc:"start of the first period in UTC"`
	Digests []string  `json:"digests" doc:"a digest for each period, or its first 8 or more characters; an empty text stands for no readings"`
}

// DifferencesBody has the periods in which a sender and the store differ.
type DifferencesBody struct {
	Differ       []string  `json:"differ" doc:"starts of the periods that differ"`
	Expired      []string  `json:"expired" doc:"starts of further periods that differ, but whose readings may have expired, or were erased"`
	Compared     int       `json:"compared" doc:"number of periods"`
	CompleteFrom time.Time `json:"complete_from" doc:"event time from which no reading has expired"`
	Receipt      string    `json:"receipt,omitempty" doc:"the signed statement about the stored readings of all spans, if receipt=true"`
}
