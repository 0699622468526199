package wire

// TableArrivals counts the readings of a table by the day of their arrival.
type TableArrivals struct {
	Table    string       `json:"table"`
	Readings int64        `json:"readings" doc:"stored readings, the sum of all days"`
	Days     []ArrivalDay `json:"days" doc:"days with arrivals, in ascending order"`
	Requests int          `json:"requests" doc:"requests to the store that this answer took"`
	Units    float64      `json:"units,omitempty" doc:"read request units on DynamoDB that this answer took"`
}

// ArrivalDay is the number of readings that arrived on a UTC day.
type ArrivalDay struct {
	Day      string `json:"day" format:"date"`
	Readings int64  `json:"readings"`
}
