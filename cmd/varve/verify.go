package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// verifier executes varve verify.
type verifier struct{ *app }

func verifyCommand(a *app) *cobra.Command {
	var f configFlags
	var rate int64
	var server string
	var sampled sampleFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Read all stored data and report damage", Args: cobra.NoArgs,
		Long: "Read all stored data and report damage. The command changes nothing. The exit code is 1 if it finds damage.\n" +
			"It reads a data folder that no server has open. With --server, the server reads its own store. On DynamoDB, it reads all rows of\n" +
			"all tables. On DynamoDB and with --server, it also compares a sample of roll-ups with a recount of their readings.",
		Example: "  varve verify --data data\n  varve verify --server http://127.0.0.1:8278 --rate 4194304\n  varve verify --store dynamodb --rate 100",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server != "" {
				a.server = server
				return verifier{a}.verifyServer(cmd.Context(), rate)
			}
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			return verifier{a}.verifyStore(cmd.Context(), &loaded.Config, &f, rate, sampled)
		},
	}
	f.add(cmd)
	a.access.add(cmd)
	cmd.Flags().StringVar(&server, "server", "", "let the server at this `address` verify its store")
	cmd.Flags().Int64Var(&rate, "rate", 0, "maximum number of bytes, or on DynamoDB read units, a second; 0 means no limit,\nor 16 MiB (1,000 units) with --server")
	sampled.add(cmd.Flags())
	a.outputFlag(cmd, "table", "json")
	return cmd
}

func (a verifier) verifyStore(ctx context.Context, c *config.Config, f *configFlags, rate int64, sampled sampleFlags) error {
	kind := kindOf(c)
	if kind.verify == nil {
		return usageError{fmt.Errorf("store.kind: %s has nothing on disk to verify: use another kind", kind.name)}
	}
	findings := []wire.Damage{}
	summary, err := kind.verify(ctx, c, verifyOptions{rate: rate, sampled: sampled, found: func(d wire.Damage) { findings = append(findings, d) }})
	if kind.oneProcess && varve.FailureOf(err) == varve.Conflict {
		return fmt.Errorf("%w, or let the server verify its store: %s", err, verifyByServer(c))
	}
	if err != nil {
		return err
	}
	if summary != "" {
		fmt.Fprintln(a.err, summary)
	}
	return a.showDamage(findings, f.command("repair"))
}

// verifierOf returns the verifier of a server's store. It is nil if the store exists only in memory.
func verifierOf(e *engine.Engine, c *config.Config, kind storeKind) api.Verifier {
	if kind.verifyOpen == nil {
		return nil
	}
	return func(ctx context.Context, v api.Verification) error {
		sampled := sampleFlags{n: sampleSize}
		sampled.choose()
		sample := rollup.NewHourSample(sampled.n, sampled.seed)
		if err := kind.verifyOpen(ctx, e.Store, v, sample); err != nil || e.Rollups == nil {
			return err
		}
		_, err := checkSample(ctx, sample, sampled.seed, e.Rollups, aliveBy(c.Policy(), e.Devices), v.Found)
		return err
	}
}

func (a verifier) verifyServer(ctx context.Context, rate int64) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	findings := []wire.Damage{}
	if err := c.Verify(ctx, rate, func(d wire.Damage) { findings = append(findings, d) }); err != nil {
		return err
	}
	return a.showDamage(findings, "varve repair, with the configuration of the server and after its end,")
}

// verifyByServer returns the command that lets the server of a configuration verify its store.
func verifyByServer(c *config.Config) string {
	return "varve verify --server " + c.Server.URL(c.Server.Listen)
}

// damageOfProblem returns a problem as the API and the command line show it.
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

// showDamage prints findings. It fails if any exist. The argument "repair" is the command that plans their
// repair.
func (a verifier) showDamage(findings []wire.Damage, repair string) error {
	g := listing{header: []string{"place", "problem", "cannot be read"}, empty: "No damage was found."}
	for _, d := range findings {
		g.add(d.Place, d.Problem, strings.Join(d.Losses, "; "))
	}
	if err := a.show(&g, map[string]any{"findings": findings}); err != nil || len(findings) == 0 {
		return err
	}
	fmt.Fprintf(a.err, "varve: %s found: %s shows what it would do about it\n", count(len(findings), "problem"), repair)
	return exitError(exitFailure)
}

func damageOfRow(row *store.DamagedRow) wire.Damage {
	return wire.Damage{Place: row.Table, Problem: row.Error()}
}
