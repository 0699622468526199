package calendar

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

const (
	// year is the length of a year in settings.
	year = 365 * day
	// unboundedYears is the number of years that are simulated if tables are never dropped.
	unboundedYears = 30
	// WarnAhead is how long in advance a plan warns that the quota will be reached.
	WarnAhead = year
)

// Lifetime simulates a policy until the number of tables no longer grows, or until the quota is
// exceeded. The simulation begins without tables. If tables are never dropped, it simulates 30
// years.
func Lifetime(ctx context.Context, p rotator.Policy, now time.Time, quota int) (Forecast, error) {
	return Simulate(ctx, Options{Policy: p, Now: now, Until: now.Add(Lifespan(p)), Quota: quota, Others: 1, EndAtQuota: true})
}

// Lifespan returns the time after which the number of tables no longer grows. If it always grows,
// Lifespan returns 30 years.
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

// QuotaText describes when the quota will be reached. It returns "" if the quota suffices.
func QuotaText(f *Forecast, quota int) string {
	if f.QuotaMet.IsZero() {
		return ""
	}
	return fmt.Sprintf("the quota of %d tables (store.table_quota) will be reached in %s", quota, f.QuotaMet.Format("2006-01"))
}

// QuotaRemedy returns the remedy for a quota that will be reached under a policy. It names only
// changes that the policy does not have yet.
func QuotaRemedy(p *rotator.Policy) string {
	var endless []string
	for _, c := range p.Retention.Classes {
		if c.Retention == retention.Forever {
			endless = append(endless, c.Name)
		}
	}
	change := "shorten retentions"
	switch {
	case !p.Drop:
		change = "set retention.drop"
	case len(endless) > 0:
		change = "limit the retention of class " + strings.Join(endless, " and ")
	}
	return change + ", or raise the quota (Service Quotas, Amazon DynamoDB) and then store.table_quota"
}
