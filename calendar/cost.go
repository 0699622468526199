package calendar

// Prices are the cost of DynamoDB, in dollars.
type Prices struct {
	WriteUnits float64 // price of a million write request units
	GBMonth    float64 // price of a gigabyte for a month
}

// ListPrices are the prices of us-east-1 on demand, as known in November 2026.
var ListPrices = Prices{WriteUnits: 0.625, GBMonth: 0.25}

// The write request units of one reading.
const (
	UnitsPerReading = 1.0   // a reading at a new timestamp, with a row window of a millisecond
	UnitsPerRollup  = 0.093 // the roll-ups of a reading, if its device reports every minute
)

// gigabyte is the unit in which storage is billed.
const gigabyte = 1 << 30

// Costs are the requests and the price of a month on DynamoDB.
type Costs struct {
	Requests float64 // number of writes of readings and of actions of the rotator
	Units    float64 // write request units
	Dollars  float64
}

// CostOf returns the costs of a month.
func (p Prices) CostOf(m *Month, rollups bool) Costs {
	units := UnitsPerReading
	if rollups {
		units += UnitsPerRollup
	}
	c := Costs{Requests: m.Arrived.Readings + float64(m.Actions()), Units: m.Arrived.Readings * units}
	c.Dollars = c.Units/1e6*p.WriteUnits + m.Stored.Bytes/gigabyte*p.GBMonth
	return c
}
