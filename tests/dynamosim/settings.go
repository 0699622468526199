package dynamosim

import (
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// The statuses of tables.
const (
	creating = "CREATING"
	updating = "UPDATING"
	active   = "ACTIVE"
	deleting = "DELETING"
)

// The billing modes.
const (
	onDemand    = "PAY_PER_REQUEST"
	provisioned = "PROVISIONED"
)

// settings are the parts of a table that UpdateTable and similar operations change.
type settings struct {
	phase string    // status of the table, such as CREATING, until the time in the field "ready"
	ready time.Time // time at which the table becomes active or is deleted

	billing      string
	units        provisionedUnits
	switched     time.Time // time of the last switch to on-demand
	class        string
	protected    bool
	encryption   *encryption
	tags         map[string]string
	ttl          string // attribute with the time at which an item expires, if TTL is on
	recovery     bool   // whether point-in-time recovery is on
	warm         capacity.Units
	lowered      time.Time // time of the last decrease of the provisioned units
	loweredToday int64     // number of decreases on the UTC day of the last decrease
}

type provisionedUnits struct {
	ReadCapacityUnits  int64
	WriteCapacityUnits int64
}

func (p provisionedUnits) perSecond() capacity.Units {
	return capacity.Units{float64(p.ReadCapacityUnits), float64(p.WriteCapacityUnits)}
}

// encryption is the encryption of a table with a KMS key.
type encryption struct {
	Enabled        bool
	SSEType        string
	KMSMasterKeyID string `json:"KMSMasterKeyId"`
}

// status returns the current status of a table, or "" if the table is deleted.
func (s *settings) status(now time.Time) string {
	switch {
	case now.Before(s.ready):
		return s.phase
	case s.phase == deleting:
		return ""
	default:
		return active
	}
}

// begin starts a change that is in progress until the given time.
func (s *settings) begin(phase string, ready time.Time) { s.phase, s.ready = phase, ready }

// DynamoDB allows four decreases of a table's units per day, and one more after each hour without
// a decrease. Source: "Quotas in Amazon DynamoDB".
const (
	freeDecreases = 4
	decreaseEvery = time.Hour
)

// recordDecrease counts a decrease of the units. It fails if the decrease is not allowed now.
func (s *settings) recordDecrease(now time.Time) error {
	day := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	if !day(now).Equal(day(s.lowered)) {
		s.loweredToday = 0
	}
	if s.loweredToday >= freeDecreases && now.Sub(s.lowered) < decreaseEvery {
		return ownError("LimitExceededException", "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. "+
			"After the first %d decreases, each subsequent decrease in the same UTC day can be performed at most once every %d seconds. Number of decreases today: %d.",
			freeDecreases, int(decreaseEvery.Seconds()), s.loweredToday)
	}
	s.lowered, s.loweredToday = now, s.loweredToday+1
	return nil
}
