package wire

import "time"

// InfluxError is the body of an answer to a failed request of InfluxDB's clients. Clients of
// version 1 read Error. Clients of version 2 read Code and Message. Clients of version 3 read Error
// and Lines.
type InfluxError struct {
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Line    int          `json:"line,omitempty"`
	Error   string       `json:"error"`
	Lines   []InfluxLine `json:"data,omitempty"`
}

// InfluxLine is a rejected line of a write.
type InfluxLine struct {
	Number  int    `json:"line_number"`
	Line    string `json:"original_line"`
	Message string `json:"error_message"`
}

// InfluxHealth is the answer of GET /health.
type InfluxHealth struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Status  string   `json:"status"`
	Checks  []string `json:"checks"`
	Version string   `json:"version,omitempty"`
}

// InfluxReady is the answer of GET /ready.
type InfluxReady struct {
	Status  string    `json:"status"`
	Started time.Time `json:"started"`
	Up      string    `json:"up"`
}

// InfluxResults is the answer of /query.
type InfluxResults struct {
	Results []InfluxResult `json:"results"`
}

// InfluxResult is the result of one statement.
type InfluxResult struct {
	Statement int            `json:"statement_id"`
	Series    []InfluxSeries `json:"series,omitempty"`
	Error     string         `json:"error,omitempty"`
}

// InfluxSeries has the columns and rows of one series in the result of a statement.
type InfluxSeries struct {
	Name    string   `json:"name,omitempty"`
	Columns []string `json:"columns"`
	Values  [][]any  `json:"values"`
}
