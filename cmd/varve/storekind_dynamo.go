package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/streams"
)

const (
	// onlineUnits is the default rate of a verification by a running server, in read units a
	// second.
	onlineUnits = 1000
	// doctorAttempts limits the attempts of each request of varve doctor. doctorTimeout limits the
	// duration of the checks, except the check that reads all tables. Both are low, because a user waits.
	doctorAttempts = 2
	doctorTimeout  = time.Minute
)

func dynamoKind() storeKind {
	place := func(c *config.Config) string { return "DynamoDB, tables " + c.Tables.Prefix + "_…" }
	return storeKind{
		// Allow many reads at a time (reads), because reads mostly wait for the network.
		name: "dynamodb", tables: 16, reads: 256, hasQuota: true,
		open:     openDynamo,
		place:    place,
		greeting: greetDynamo,
		examine:  examineDynamo,
		verify: func(ctx context.Context, c *config.Config, o verifyOptions) (string, error) {
			o.sampled.choose()
			done, err := verifyTables(ctx, c, o)
			if err != nil {
				return "", err
			}
			return sampledText(done, o.sampled.seed), nil
		},
		repair: func(ctx context.Context, a *app, c *config.Config, f *repairFlags) error {
			return repairer{a}.repairDynamo(ctx, c, f.dynamoRepair)
		},
		verifyOpen: verifyDynamo,
		register: func(reg *prometheus.Registry, _ *config.Config, st store.Store) {
			if s, ok := st.(*dynamo.Store); ok {
				registerUsage(reg, s)
			}
		},
	}
}

// greetDynamo names the endpoint of an emulator, or else the account and the region. Tables with
// the same name may exist in many accounts and regions.
func greetDynamo(ctx context.Context, c *config.Config, st store.Store) string {
	text := "in DynamoDB"
	if c.Store.Endpoint != "" {
		text += " at " + c.Store.Endpoint
	} else if s, ok := st.(*dynamo.Store); ok {
		if at, err := s.Location(ctx); err == nil { // otherwise, the banner omits the location
			text += ", account " + at.Account + ", region " + at.Region
		}
	}
	return text + ", tables " + c.Tables.Prefix + "_…"
}

func openDynamo(ctx context.Context, o storeOptions) (store.Store, error) {
	options, err := dynamoOptions(ctx, o.config, 0)
	if err != nil {
		return nil, err
	}
	options.Conditions, options.MustExist = o.conditions, o.mustExist
	s, err := dynamo.Open(ctx, options)
	if err != nil {
		return nil, nameRegistry(err, options.Registry)
	}
	return s, nil
}

// nameRegistry replaces the error about a missing registry by an error with the remedy.
func nameRegistry(err error, name string) error {
	if errors.Is(err, store.ErrNoTable) {
		return missingStore{fmt.Errorf("registry %s: table is missing: check store.registry, tables.prefix, the account and the region", name)}
	}
	return err
}

// examineDynamo checks the registry, the tables' template, permissions and quotas. If "all" is set,
// it reads all tables, too.
func examineDynamo(ctx context.Context, c *config.Config, all bool) ([]dynamo.Finding, error) {
	short, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	options, err := dynamoOptions(ctx, c, doctorAttempts)
	if err != nil {
		return nil, err
	}
	policy := c.Policy()
	x := dynamo.Examination{Options: options, Expired: expiredBy(policy), TableQuota: c.Store.TableQuota, Forecast: forecastTables(c)}
	for _, class := range policy.Classes {
		x.Prefixes = append(x.Prefixes, policy.TablePrefix(class.Name))
	}
	findings := dynamo.Examine(short, x)
	if all {
		findings = append(findings, examineTables(ctx, c))
	}
	return findings, nil
}

// expiredBy returns a function that reports whether all readings that a table can contain have
// expired.
func expiredBy(p *retention.Policy) func(grid.Table) bool {
	return func(t grid.Table) bool {
		class, ok := p.ClassOfPrefix(t.Prefix)
		cutoff := retention.Cutoff(now(), class.Retention)
		return ok && !t.Month.End().After(cutoff) && !time.Unix(t.End, 0).After(cutoff)
	}
}

// verifyTables reads the rows of all tables, and compares the roll-ups of a random sample of hours with
// their readings.
func verifyTables(ctx context.Context, c *config.Config, v verifyOptions) (done rollup.Outcomes, err error) {
	options, err := dynamoOptions(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	options.MustExist = true
	s, err := dynamo.Open(ctx, options)
	if err != nil {
		return nil, nameRegistry(err, options.Registry)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	known := devices.New(devices.Options{Items: s, Policy: c.Policy(), Now: now})
	defer known.Close()
	registry := streams.New(s, now)
	policy := c.Policy()
	registry.RecoverFrom(s, func(prefix string) (string, bool) {
		class, ok := policy.ClassOfPrefix(prefix)
		return class.Name, ok
	})
	raw := query.New(query.Options{Reader: s, Catalog: s, Streams: registry, Policy: policy, Now: now, Layouts: c.Layouts(), Parallel: kindOf(c).tables})
	sample := rollup.NewHourSample(v.sampled.n, v.sampled.seed)
	if _, err = s.Verify(ctx, verification(v.rate, sample, v.found)); err != nil {
		return nil, err
	}
	return checkSample(ctx, sample, v.sampled.seed, rollup.NewReader(s, raw, c.Resent()), aliveBy(policy, known), v.found)
}

// verifyDynamo reads the rows of all tables of a server, and adds the hours of their readings to the
// random sample of hours.
func verifyDynamo(ctx context.Context, st store.Store, v api.Verification, sample *rollup.HourSample) error {
	s, ok := st.(*dynamo.Store)
	if !ok {
		return nil
	}
	asked := verification(cmp.Or(v.Rate, onlineUnits), sample, v.Found)
	asked.Progress = func(done dynamo.Verified) { v.Read(int64(done.Units)) }
	_, err := s.Verify(ctx, asked)
	return err
}
