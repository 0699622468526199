package main

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
)

// quotaFinding compares the tables that a configuration needs over its life with the quota of the
// account. If the quota suffices, or the store has no quota, the text is empty.
//
// If the result "wrong" is true, the configuration exceeds the quota although it drops expired tables.
// The operator of such a configuration expects that the deployment can run forever.
func quotaFinding(ctx context.Context, c *config.Config) (text string, wrong bool, err error) {
	if !kindOf(c).hasQuota {
		return "", false, nil
	}
	f, err := calendar.Lifetime(ctx, c.Rotation(), now(), c.Store.TableQuota)
	if err != nil || f.QuotaMet.IsZero() {
		return "", false, err
	}
	text = calendar.QuotaText(&f, c.Store.TableQuota)
	b, dropped := c.Bound(now(), rotator.Outage)
	if wrong = dropped && len(b.Forever) == 0; wrong {
		text = fmt.Sprintf("%s, and the configuration needs up to %d tables", text, b.Tables)
	} else if dropped {
		text += ", because a class keeps its readings forever"
	} else {
		text += ", because retention.drop is false"
	}
	return text, wrong, nil
}

func quotaRemedy(c *config.Config) string {
	p := c.Rotation()
	return calendar.QuotaRemedy(&p)
}

// warnOfQuota logs a warning if the configuration will reach the quota of the account although it drops
// expired tables.
func warnOfQuota(ctx context.Context, c *config.Config, log zerolog.Logger) {
	text, wrong, err := quotaFinding(ctx, c)
	if err != nil || !wrong {
		// Log nothing: an error means that ctx has ended. If "wrong" is false, either the quota suffices, or
		// the configuration keeps tables forever. In the latter case, varve config check and varve tables
		// plan show the date at which the quota is reached.
		return
	}
	log.Warn().Str("found", text).Str("remedy", quotaRemedy(c)).Msg("quota of tables too small")
}

// forecastTables returns a function that forecasts the tables on DynamoDB for varve doctor. The forecast
// has a remedy if the quota will be reached. The finding is only a warning if some tables are never
// dropped and the quota will suffice for more than a year.
func forecastTables(c *config.Config) dynamo.Forecaster {
	return func(ctx context.Context, tables []store.Info, others int) (found, remedy string, warning bool, err error) {
		p, at := c.Rotation(), now()
		f, err := calendar.Simulate(ctx, calendar.Options{
			Policy: p, Now: at, Until: at.Add(calendar.Lifespan(p)), Tables: tables, Quota: c.Store.TableQuota, Others: others, EndAtQuota: true,
		})
		if err != nil {
			return "", "", false, err
		}
		if f.QuotaMet.IsZero() {
			return fmt.Sprintf("at most %s of this deployment, and the quota is not reached", thousands(int64(f.Most))), "", false, nil
		}
		found = calendar.QuotaText(&f, c.Store.TableQuota)
		isLater := endless(&p) && f.QuotaMet.After(at.Add(calendar.WarnAhead))
		return found, calendar.QuotaRemedy(&p), isLater, nil
	}
}

// endless reports whether some tables are never dropped.
func endless(p *rotator.Policy) bool {
	for _, c := range p.Retention.Classes {
		if c.Retention == retention.Forever {
			return true
		}
	}
	return !p.Drop
}

func accountOf(c *config.Config, st store.Store) (a api.Account) {
	if !kindOf(c).hasQuota {
		return a
	}
	a.TableQuota, a.Billed, a.Rollups = c.Store.TableQuota, true, c.Rollups.Enabled
	if s, ok := st.(*dynamo.Store); ok {
		a.CountTables = s.CountTables
	}
	return a
}
