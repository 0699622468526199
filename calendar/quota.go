package calendar

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

const (
	// year is the length of a year in settings.
	year = 365 * day
	// unboundedYears is the number of years that are simulated if tables are never dropped.
	unboundedYears = 30
	// WarnAhead is how long in advance a plan warns that the quota will be met.
	WarnAhead = year
)

// Lifetime simulates a policy until the number of tables no longer grows, or until the quota is
// exceeded. It begins without tables. If tables are never dropped, it simulates 30 years.
func Lifetime(ctx context.Context, p rotator.Policy, now time.Time, quota int) (Forecast, error) {
	return Simulate(ctx, Options{Policy: p, Now: now, Until: now.Add(Lifespan(p)), Quota: quota, Others: 1, EndAtQuota: true})
}

// Lifespan returns the time after which the number of tables no longer grows.
func Lifespan(p rotator.Policy) time.Duration {
	span := time.Duration(0)
	for _, c := range p.Retention.Classes {
		if c.Retention == retention.Forever || !p.Drop {
			return unboundedYears * year
		}
		span = max(span, c.Retention)
	}
	p = p.WithDefaults()
	return span + max(p.Grace, p.RecountGrace) + year
}

// QuotaText describes when the quota will be met. It returns "" if the quota suffices.
func QuotaText(f *Forecast, quota int) string {
	if f.QuotaMet.IsZero() {
		return ""
	}
	return fmt.Sprintf("the quota of %d tables (store.table_quota) will be met in %s", quota, f.QuotaMet.Format("2006-01"))
}

// QuotaRemedy is the remedy for a quota that will be met.
const QuotaRemedy = "shorten retentions, set retention.drop, or raise the quota (Service Quotas, Amazon DynamoDB) and then store.table_quota"
