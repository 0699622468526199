package wire

// FirehoseAnswer is the answer to a request of Amazon Data Firehose. Firehose retries a request
// whose answer has another form.
type FirehoseAnswer struct {
	RequestID string `json:"requestId"`
	Timestamp int64  `json:"timestamp" doc:"Unix milliseconds"`
	Error     string `json:"errorMessage,omitempty"`
}

// FirehoseBody describes the body of a request of Firehose, for the OpenAPI document.
type FirehoseBody struct {
	RequestID string           `json:"requestId"`
	Timestamp int64            `json:"timestamp" doc:"Unix milliseconds"`
	Records   []FirehoseRecord `json:"records"`
}

// FirehoseRecord is a queue record in a FirehoseBody.
type FirehoseRecord struct {
	Data string `json:"data" doc:"the record in Base64: readings in JSON, NDJSON or line protocol"`
}

// IoTConfirmation is the request of AWS IoT Core to confirm the HTTP destination of a rule of IoT Core.
type IoTConfirmation struct {
	ARN         string `json:"arn"`
	EnableURL   string `json:"enableUrl"`
	MessageType string `json:"messageType"`
}

// IoTConfirmed is the answer to an IoTConfirmation whose destination was confirmed.
type IoTConfirmed struct {
	ARN       string `json:"arn"`
	Confirmed bool   `json:"confirmed"`
}

// IoTAnswer is the answer to messages of a rule of IoT Core.
type IoTAnswer struct {
	Stored     int64 `json:"stored"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected" doc:"stored as rejects"`
}
