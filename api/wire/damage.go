package wire

// Damage is one place of a store that is damaged.
type Damage struct {
	Place   string   `json:"place" doc:"the file, or the table"`
	Problem string   `json:"problem" doc:"what is wrong with it"`
	Losses  []string `json:"losses,omitempty" doc:"what cannot be read because of it"`
}

// VerifyLine is one line of a verification's answer: damage, or the end.
type VerifyLine struct {
	Damage *Damage `json:"damage,omitempty" doc:"one damaged place"`
	Read   int64   `json:"read,omitempty" doc:"progress: the bytes, on DynamoDB the read units, that were read so far"`
	Done   bool    `json:"done,omitempty" doc:"all was read; the last line, unless it has an error"`
	Error  string  `json:"error,omitempty" doc:"why the verification ended early; the last line"`
}
