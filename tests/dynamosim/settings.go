package dynamosim

import (
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// Statuses of tables.
const (
	creating = "CREATING"
	updating = "UPDATING"
	active   = "ACTIVE"
	deleting = "DELETING"
)

// Modes of billing.
const (
	onDemand    = "PAY_PER_REQUEST"
	provisioned = "PROVISIONED"
)

// settings are the parts of a table that UpdateTable and other operations change.
type settings struct {
	phase string    // the status until ready
	ready time.Time // when the table becomes active, or is gone

	billing      string
	units        provisionedUnits
	switched     time.Time // to on-demand
	class        string
	protected    bool
	encryption   *encryption
	tags         map[string]string
	ttl          string // the attribute, if TTL is on
	recovery     bool   // point-in-time recovery
	warm         capacity.Units
	lowered      time.Time // the last decrease of the units
	loweredToday int64
}

// provisionedUnits are the provisioned units of a table or an index.
type provisionedUnits struct {
	ReadCapacityUnits  int64
	WriteCapacityUnits int64
}

func (p provisionedUnits) perSecond() capacity.Units {
	return capacity.Units{float64(p.ReadCapacityUnits), float64(p.WriteCapacityUnits)}
}

// encryption is the encryption of a table with a key of KMS.
type encryption struct {
	Enabled        bool
	SSEType        string
	KMSMasterKeyID string `json:"KMSMasterKeyId"`
}

// status returns the status of a table, or "" if it is gone.
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

// begin starts a change that lasts for a while.
func (s *settings) begin(phase string, ready time.Time) { s.phase, s.ready = phase, ready }

// DynamoDB lowers the units of a table four times a day, and once more in each hour without a
// decrease. Source: "Quotas in Amazon DynamoDB".
const (
	freeDecreases = 4
	decreaseEvery = time.Hour
)

// recordDecrease counts a decrease of the units, or fails if it is one too many.
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
