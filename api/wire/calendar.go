package wire

import "time"

// PolicyBody is a policy of the rotator for a simulated forecast. It need not be the policy in force.
// Durations have the form of settings, as in 90d.
type PolicyBody struct {
	Prefix      string            `json:"prefix,omitempty" doc:"prefix of the tables; default: the present one"`
	Future      string            `json:"future" doc:"tables.future"`
	RecentWeeks int               `json:"recent_weeks" doc:"tables.recent_weeks"`
	Doubling    string            `json:"doubling" doc:"tables.doubling"`
	MonthsAhead int               `json:"months_ahead" doc:"tables.months_ahead"`
	Drop        bool              `json:"drop" doc:"retention.drop is true or archived"`
	Archived    bool              `json:"archived,omitempty" doc:"retention.drop is archived"`
	Grace       string            `json:"grace" doc:"retention.grace"`
	Seal        string            `json:"seal" doc:"retention.seal"`
	MaxDrops    int               `json:"max_drops" doc:"retention.max_drops"`
	Rollups     bool              `json:"rollups" doc:"rollups.enabled"`
	Classes     map[string]string `json:"classes" doc:"the retention of each class; default is among them"`
	TableQuota  int               `json:"table_quota,omitempty" doc:"store.table_quota; default: the present one"`
	Store       string            `json:"store,omitempty" enum:"local,dynamodb,mem" doc:"store.kind; default: the present one"`
}

// CalendarBody is the forecast of the tables, month by month.
type CalendarBody struct {
	From     time.Time       `json:"from"`
	Until    time.Time       `json:"until"`
	Months   []CalendarMonth `json:"months"`
	Most     int             `json:"most" doc:"the largest number of tables at a time"`
	Load     []CalendarLoad  `json:"load" doc:"the present load, which is assumed to continue"`
	Quota    *int            `json:"quota" doc:"the quota of tables of the account; null means none"`
	QuotaMet *string         `json:"quota_met" doc:"the month in which the quota will be exceeded; null means that it suffices"`
	Warnings []string        `json:"warnings"`
	Notes    []string        `json:"notes" doc:"assumptions of the forecast"`
}

// CalendarMonth is the forecast of one month.
type CalendarMonth struct {
	Month    string   `json:"month"`
	Created  int      `json:"created"`
	Retired  int      `json:"retired"`
	Restored int      `json:"restored"`
	Dropped  int      `json:"dropped"`
	Tables   int      `json:"tables" doc:"at the end of the month"`
	Most     int      `json:"most" doc:"the largest number of tables in the month"`
	Readings int64    `json:"readings" doc:"stored at the end of the month; on DynamoDB, rows"`
	Bytes    int64    `json:"bytes" doc:"stored at the end of the month"`
	Requests *int64   `json:"requests" doc:"writes of readings, and steps of the rotator; null if requests cost nothing"`
	Dollars  *float64 `json:"dollars" doc:"writes and storage on DynamoDB, at list prices; null if they cost nothing"`
}

// CalendarLoad is the load of one class.
type CalendarLoad struct {
	Class    string  `json:"class"`
	Readings float64 `json:"readings" doc:"per day"`
	Bytes    float64 `json:"bytes" doc:"per day; 0 if the size is not known yet"`
	Measured string  `json:"measured,omitempty" doc:"the time over which the load was measured; absent if readings_per_day gives it"`
}
