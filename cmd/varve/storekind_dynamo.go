package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
)

const (
	// onlineUnits is the default rate of a verification beside a server's other
	// work, in read units a second.
	onlineUnits = 1000
	// doctorAttempts limits the attempts of each request of an examination, and
	// doctorTimeout its duration: a user waits for it.
	doctorAttempts = 2
	doctorTimeout  = time.Minute
)

// dynamoKind describes the store on DynamoDB.
func dynamoKind() storeKind {
	place := func(c *config.Config) string { return "DynamoDB, tables " + c.Tables.Prefix + "_…" }
	return storeKind{
		// Reads mostly wait for the network.
		name: "dynamodb", tables: 16, reads: 256,
		open:     openDynamo,
		place:    place,
		greeting: func(c *config.Config) string { return "in " + place(c) },
		examine:  examineDynamo,
		verify:   verifyTables,
		repair: func(ctx context.Context, a *app, c *config.Config, f *repairFlags) error {
			return a.repairDynamo(ctx, c, f.dynamoRepair)
		},
		verifier: dynamoVerifier,
		register: func(reg *prometheus.Registry, _ *config.Config, st store.Store) {
			if s, ok := st.(*dynamo.Store); ok {
				registerUsage(reg, s)
			}
		},
	}
}

func openDynamo(ctx context.Context, o storeOptions) (store.Store, error) {
	options, err := dynamoOptions(ctx, o.config)
	if err != nil {
		return nil, err
	}
	options.Conditions = o.conditions
	return dynamo.Open(ctx, options)
}

// examineDynamo checks the registry, the tables' template, permissions and quotas.
func examineDynamo(ctx context.Context, c *config.Config) ([]dynamo.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	options, err := dynamoOptions(ctx, c)
	if err != nil {
		return nil, err
	}
	options.Client = dynamodb.New(options.Client.Options(), func(o *dynamodb.Options) {
		o.Retryer = retry.AddWithMaxAttempts(o.Retryer, doctorAttempts)
	})
	policy := c.Policy()
	x := dynamo.Examination{Options: options, Expired: expiredBy(policy)}
	for _, class := range policy.Classes {
		x.Prefixes = append(x.Prefixes, policy.TablePrefix(class.Name))
	}
	return dynamo.Examine(ctx, x), nil
}

// expiredBy returns a function that reports whether all readings that a table can
// have held have expired.
func expiredBy(p *retention.Policy) func(grid.Table) bool {
	return func(t grid.Table) bool {
		class, ok := p.ClassOfPrefix(t.Prefix)
		cutoff := retention.Cutoff(now(), class.Retention)
		return ok && !t.Month.End().After(cutoff) && !time.Unix(t.End, 0).After(cutoff)
	}
}

// verifyTables reads the rows of all tables.
func verifyTables(ctx context.Context, c *config.Config, rate int64, found func(wire.Damage)) (err error) {
	options, err := dynamoOptions(ctx, c)
	if err != nil {
		return err
	}
	s, err := dynamo.Open(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.Verify(ctx, dynamo.Verification{
		Rate: float64(rate), Found: func(row store.DamagedRow) { found(damageOfRow(&row)) },
	})
	return err
}

func dynamoVerifier(st store.Store) api.Verifier {
	s, ok := st.(*dynamo.Store)
	if !ok {
		return nil
	}
	return func(ctx context.Context, v api.Verification) error {
		_, err := s.Verify(ctx, dynamo.Verification{
			Rate:     float64(cmp.Or(v.Rate, onlineUnits)),
			Found:    func(row store.DamagedRow) { v.Found(damageOfRow(&row)) },
			Progress: func(done dynamo.Verified) { v.Read(int64(done.Units)) },
		})
		return err
	}
}
