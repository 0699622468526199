package calendar_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

var november = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// policyOf returns the default policy with the given retention of the default class.
func policyOf(keep time.Duration, drop bool) rotator.Policy {
	return rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: drop, RecountGrace: 3 * day,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: keep}}},
	}
}

// TestLifetime_FindsMonthOfQuota simulates policies, and checks in which month the quota is met.
// The largest number of tables must stay within the bound of the policy.
func TestLifetime_FindsMonthOfQuota(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     rotator.Policy
		quota int
		met   string
	}{
		{"a year, dropped", policyOf(year, true), 2500, ""},
		{"a year, dropped, a small quota", policyOf(year, true), 200, "2027-07"},
		{"30 years", policyOf(30*year, true), 2500, "2036-08"},
		{"30 years, a raised quota", policyOf(30*year, true), 10000, ""},
		{"never dropped", policyOf(year, false), 2500, "2036-08"},
		{"forever", policyOf(retention.Forever, true), 2500, "2036-08"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := calendar.Lifetime(t.Context(), c.p, november, c.quota)
			if err != nil {
				t.Fatal(err)
			}
			met := ""
			if !f.QuotaMet.IsZero() {
				met = f.QuotaMet.Format("2006-01")
			}
			if met != c.met {
				t.Errorf("the quota of %d is met in %q, want %q; at most %d tables", c.quota, met, c.met, f.Most)
			}
			if bound, ok := c.p.Bound(november, 0); ok && f.Most > bound {
				t.Errorf("%d tables, the bound is %d", f.Most, bound)
			}
			t.Logf("at most %d tables", f.Most)
		})
	}
}

// TestSimulate_EndsWithContext cancels the context of a simulation.
func TestSimulate_EndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client left")
	cancel(why)
	if _, err := calendar.Lifetime(ctx, policyOf(year, true), november, 2500); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// TestQuotaRemedy_NamesChangesThatHelp checks that a remedy names no setting that the policy has
// already.
func TestQuotaRemedy_NamesChangesThatHelp(t *testing.T) {
	const raise = ", or raise the quota (Service Quotas, Amazon DynamoDB) and then store.table_quota"
	for _, c := range []struct {
		p    rotator.Policy
		want string
	}{
		{policyOf(year, true), "shorten retentions"},
		{policyOf(year, false), "set retention.drop"},
		{policyOf(retention.Forever, true), "limit the retention of class default"},
	} {
		if got := calendar.QuotaRemedy(&c.p); got != c.want+raise {
			t.Errorf("got %s, want %s", got, c.want+raise)
		}
	}
}
