package wire

// Damage is one damaged part of a store.
type Damage struct {
	Place   string   `json:"place" doc:"the file, or the table"`
	Problem string   `json:"problem" doc:"its problem"`
	Losses  []string `json:"losses,omitempty" doc:"the data that it makes unreadable"`
}

// VerifyLine is one line of the answer to a request to verify the store: damage, progress or the end.
type VerifyLine struct {
	Damage *Damage `json:"damage,omitempty" doc:"one damaged place"`
	Read   int64   `json:"read,omitempty" doc:"progress: the bytes, on DynamoDB the read units, that were read so far"`
	Done   bool    `json:"done,omitempty" doc:"all data was read; the last line, unless it has an error"`
	Error  string  `json:"error,omitempty" doc:"why the verification ended early; the last line"`
}
