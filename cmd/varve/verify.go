package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/fleet"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/streams"
)

// A verification reads a store that serves others at these rates if none is
// asked for: bytes and read units a second.
const (
	onlineRate  = 16 << 20
	onlineUnits = 1000
)

func verifyCommand(a *app) *cobra.Command {
	var f configFlags
	var rate int64
	var server string
	var sampled sampleFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Read all that is stored and report damage", Args: cobra.NoArgs,
		Long: "Read all that is stored and report damage. It changes nothing, and exits with 1 if it finds damage.\n" +
			"It reads a data folder that no server has open; with --server, the server reads its own. On DynamoDB it reads all rows of all tables.\n" +
			"On DynamoDB, and by a server, a sample of roll-ups is compared with a recount of their readings.",
		Example: "  varve verify --data data\n  varve verify --server http://127.0.0.1:8278 --rate 4194304\n  varve verify --store dynamodb --rate 100",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server != "" {
				a.server = server
				return a.verifyServer(cmd.Context(), rate)
			}
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			return a.verifyStore(cmd.Context(), &loaded.Config, rate, sampled)
		},
	}
	f.add(cmd)
	a.access.add(cmd)
	cmd.Flags().StringVar(&server, "server", "", "let the server at this `address` verify its store")
	cmd.Flags().Int64Var(&rate, "rate", 0, "read at most so many bytes a second, on DynamoDB read units; 0 means no limit,\nor 16 MiB (1,000 units) with --server")
	sampled.add(cmd.Flags())
	a.outputFlag(cmd, "table", "json")
	return cmd
}

// verifyStore verifies the store of a configuration.
func (a *app) verifyStore(ctx context.Context, c *config.Config, rate int64, sampled sampleFlags) error {
	findings := []wire.Damage{}
	switch c.Store.Kind {
	case "local":
		err := local.CheckFolder(ctx, c.Store.Dir, rate, func(p local.Problem) { findings = append(findings, damageOfProblem(&p)) })
		if err != nil {
			return err
		}
	case "dynamodb":
		sampled.choose()
		done, err := verifyTables(ctx, c, rate, sampled, func(d wire.Damage) { findings = append(findings, d) })
		if err != nil {
			return err
		}
		fmt.Fprintln(a.err, sampledText(done, sampled.seed))
	default:
		return usageError{fmt.Errorf("store.kind: %s keeps nothing on disk: there is nothing to verify", c.Store.Kind)}
	}
	return a.showDamage(findings)
}

// verifyServer lets a server verify its store.
func (a *app) verifyServer(ctx context.Context, rate int64) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	findings := []wire.Damage{}
	if err := c.Verify(ctx, rate, func(d wire.Damage) { findings = append(findings, d) }); err != nil {
		return err
	}
	return a.showDamage(findings)
}

// verifyTables reads the rows of all tables on DynamoDB, and compares a sample of
// roll-ups with their readings.
func verifyTables(ctx context.Context, c *config.Config, rate int64, sampled sampleFlags, found func(wire.Damage)) (done rollup.Sampled, err error) {
	options, err := dynamoOptions(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := dynamo.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	devices := fleet.New(fleet.Options{Items: s, Policy: c.Policy(), Now: now})
	defer devices.Close()
	registry := streams.New(s, now)
	policy := c.Policy()
	registry.RecoverFrom(s, func(prefix string) (string, bool) {
		class, ok := policy.ClassOfPrefix(prefix)
		return class.Name, ok
	})
	raw := query.New(query.Options{Reader: s, Catalog: s, Streams: registry, Policy: policy, Now: now, Layouts: c.Layouts(), Parallel: parallel(c)})
	sample := rollup.NewSample(sampled.n, sampled.seed)
	if _, err = s.Verify(ctx, verification(rate, sample, found)); err != nil {
		return nil, err
	}
	return checkSample(ctx, sample, sampled.seed, rollup.NewReader(s, raw, c.Resent()), aliveBy(policy, devices), found)
}

// damageOfProblem is what the API and the command line show of a problem.
func damageOfProblem(p *local.Problem) wire.Damage {
	d := wire.Damage{Place: p.File, Problem: p.Err.Error()}
	for i := range p.Losses {
		if text := lossLine(&p.Losses[i]); !slices.Contains(d.Losses, text) {
			d.Losses = append(d.Losses, text)
		}
	}
	if p.Harmless {
		d.Losses = append(d.Losses, "nothing")
	}
	return d
}

// showDamage shows findings. It fails if there are any.
func (a *app) showDamage(findings []wire.Damage) error {
	g := listing{header: []string{"place", "problem", "cannot be read"}, empty: "No damage was found."}
	for _, d := range findings {
		g.add(d.Place, d.Problem, strings.Join(d.Losses, "; "))
	}
	if err := a.show(&g, findings); err != nil || len(findings) == 0 {
		return err
	}
	fmt.Fprintf(a.err, "varve: %s found: varve repair shows what it would do about it\n", count(len(findings), "problem"))
	return exitError(exitFailure)
}

func damageOfRow(row *store.DamagedRow) wire.Damage {
	return wire.Damage{Place: row.Table, Problem: row.Error()}
}

// verifierOf returns the verifier of a server's store; nil if nothing is on disk.
func verifierOf(e *engine.Engine, c *config.Config) api.Verifier {
	if c.Store.Kind == "mem" {
		return nil
	}
	return func(ctx context.Context, v api.Verification) error {
		sampled := sampleFlags{n: sampleSize}
		sampled.choose()
		sample := rollup.NewSample(sampled.n, sampled.seed)
		if err := verifyStore(ctx, e.Store, v, sample); err != nil || e.Rollups == nil {
			return err
		}
		_, err := checkSample(ctx, sample, sampled.seed, e.Rollups, aliveBy(c.Policy(), e.Fleet), v.Found)
		return err
	}
}

// verifyStore reads everything in a server's store, and offers hours to a sample.
func verifyStore(ctx context.Context, st store.Store, v api.Verification, sample *rollup.Sample) error {
	switch st := st.(type) {
	case *local.Store:
		pace := local.Pace{Rate: cmp.Or(v.Rate, onlineRate), Read: v.Read}
		if err := st.Verify(ctx, pace, func(p local.Problem) { v.Found(damageOfProblem(&p)) }); err != nil {
			return err
		}
		return sampleFolder(ctx, st, sample)
	case *dynamo.Store:
		asked := verification(cmp.Or(v.Rate, onlineUnits), sample, v.Found)
		asked.Progress = func(done dynamo.Verified) { v.Read(int64(done.Units)) }
		_, err := st.Verify(ctx, asked)
		return err
	}
	return nil
}
