package wire

import "time"

// WhyBody explains where a reading is, or why it is not found.
type WhyBody struct {
	Device  string      `json:"device"`
	Time    string      `json:"time" format:"date-time" doc:"the time that was asked for"`
	ID      string      `json:"id,omitempty" doc:"the id that was asked for"`
	Known   bool        `json:"known" doc:"whether the device is registered: otherwise no reading of it was ever accepted, or it was deleted"`
	Streams []WhyStream `json:"streams" doc:"the streams that hold such a reading; if none does, all streams of the request"`
	Rejects []WhyReject `json:"rejects,omitempty" doc:"up to 3 rejects that may be the reading"`
}

// States of a WhyStream.
const (
	WhyStored   = "stored"   // a live reading is stored
	WhyExpired  = "expired"  // the reading is stored and has expired
	WhyRemoved  = "removed"  // no copy is stored; a reading that arrived at its event time would have expired
	WhyNever    = "never"    // no copy is stored; a stored reading of this time would not have expired
	WhyRejected = "rejected" // no copy is stored; a reading of this time was rejected, or would be
)

// WhyStream explains the state of the reading in one stream.
type WhyStream struct {
	Stream   string       `json:"stream"`
	Class    string       `json:"class" doc:"the retention class into whose tables the stream is written"`
	Rule     string       `json:"rule" doc:"the setting that limits how long the reading lives"`
	State    string       `json:"state" enum:"stored,expired,removed,never,rejected"`
	Text     string       `json:"text" doc:"the state in a sentence"`
	Readings []WhyReading `json:"readings" doc:"the stored copies, including expired ones"`
	OtherIDs []string     `json:"other_ids,omitempty" doc:"ids of stored readings of this time that the request did not ask for, up to 5"`
	Tables   []WhyTable   `json:"tables,omitempty" doc:"the tables that hold the readings, or that would hold them; only for keys of the tenant default"`
}

// WhyReject is a reject that may be the reading.
type WhyReject struct {
	ID      string    `json:"id"`
	Stream  string    `json:"stream,omitempty"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Last    time.Time `json:"last" doc:"the last arrival"`
	Exact   bool      `json:"exact" doc:"it has the event time; otherwise its time could not be read, and it arrived in the hour after"`
}

// WhyReading is one stored copy of a reading.
type WhyReading struct {
	Time    string     `json:"time" format:"date-time"`
	ID      string     `json:"id"`
	Version uint32     `json:"version,omitempty" doc:"of a correction; queries return the highest one that is alive"`
	Arrived string     `json:"arrived" format:"date-time"`
	Expires *time.Time `json:"expires" doc:"null means never"`
	Alive   bool       `json:"alive" doc:"whether queries return it, unless a copy with an earlier arrival or a higher version is alive"`
	Table   string     `json:"table,omitempty" doc:"only for keys of the tenant default"`
}

// WhyTable is a table that contains the reading, or would contain it.
type WhyTable struct {
	Name       string     `json:"name"`
	From       time.Time  `json:"from" doc:"beginning of its event range"`
	To         time.Time  `json:"to" doc:"end of its event range, exclusive"`
	WriteMonth string     `json:"write_month" doc:"month in which its readings arrived"`
	Exists     bool       `json:"exists"`
	State      string     `json:"state,omitempty" enum:"ahead,open,sealed,retired" doc:"absent if it does not exist"`
	Hold       string     `json:"hold,omitempty" doc:"the reason for which it must not be dropped"`
	Retires    *time.Time `json:"retires" doc:"null means never"`
	Drops      *time.Time `json:"drops" doc:"null means never"`
	Why        string     `json:"why" doc:"why it is dropped then, or not"`
	Archived   *time.Time `json:"archived,omitempty" doc:"when it was archived; missing without an archive"`
}
