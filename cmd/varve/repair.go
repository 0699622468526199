package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

type repairFlags struct {
	configFlags
	dynamoRepair
}

// repairer executes varve repair.
type repairer struct{ *app }

func repairCommand(a *app) *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use: "repair", Short: "Set damaged data aside and recover the rest", Args: cobra.NoArgs,
		Long: "Set damaged data aside and recover the rest. Without --apply, it prints the repairs and changes nothing.\n" +
			"No server may have the data folder open. The command recovers all readable data, and moves damaged files to the subfolder damaged.\n" +
			"It deletes no files. It lists losses by table, series and time, and recounts lost roll-ups. On DynamoDB, it makes the registry and the\n" +
			"tables agree.",
		Example: "  varve repair --data data\n  varve repair --data data --apply\n  varve repair --store dynamodb --scan --rate 100 --apply",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.load(a)
			if err != nil {
				return err
			}
			kind := kindOf(&loaded.Config)
			if kind.repair == nil {
				return usageError{fmt.Errorf("store.kind: %s has nothing on disk to repair: use another kind", kind.name)}
			}
			return kind.repair(cmd.Context(), a, &loaded.Config, &f)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.apply, "apply", false, "carry out the repairs")
	f.addDynamo(flags)
	a.outputFlag(cmd, "table", "json")
	return cmd
}

// repairFolder repairs a data folder, or shows the changes of a repair.
func (a repairer) repairFolder(ctx context.Context, c *config.Config, f *repairFlags) error {
	found, harmless, lost := []wire.Damage{}, []wire.Damage{}, []local.Loss{}
	if err := local.CheckFolder(ctx, c.Store.Dir, 0, func(p local.Problem) {
		if p.Harmless {
			harmless = append(harmless, damageOfProblem(&p))
			return
		}
		found, lost = append(found, damageOfProblem(&p)), append(lost, p.Losses...)
	}); err != nil {
		return err
	}
	if !f.apply {
		found = append(found, planRecount(c, lost, len(found) > 0)...)
		return a.showRepairPlan(found, harmless, f.command("repair")+" --apply")
	}
	losses, recounted, err := a.applyRepair(ctx, c)
	if err != nil {
		return err
	}
	list := harmless
	for i := range losses {
		list = append(list, wire.Damage{Place: losses[i].File, Problem: losses[i].Reason, Losses: []string{lossLine(&losses[i])}})
	}
	if err := a.showRepair(append(list, recounted...), "lost"); err != nil {
		return err
	}
	return a.checkRepaired(ctx, c, f, losses)
}

// showRepairPlan prints the changes that a repair would make, and the command that makes them.
func (a repairer) showRepairPlan(found, harmless []wire.Damage, command string) error {
	if err := a.showRepair(append(harmless, found...), "cannot be read"); err != nil {
		return err
	}
	switch {
	case len(found) > 0:
		fmt.Fprintln(a.err, "Nothing was changed: "+command+" sets this aside, keeps the rest, and accepts what is lost.")
	case len(harmless) > 0:
		fmt.Fprintln(a.err, "Nothing was changed: "+command+" mends this, and nothing is lost.")
	}
	return nil
}

// checkRepaired verifies a folder after a repair, and reports the remaining damage.
func (a repairer) checkRepaired(ctx context.Context, c *config.Config, f *repairFlags, losses []local.Loss) error {
	left := 0
	if err := local.CheckFolder(ctx, c.Store.Dir, 0, func(local.Problem) { left++ }); err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("data folder %s: %s left: run %s and report this", c.Store.Dir, count(left, "problem"), f.command("verify"))
	}
	if slices.ContainsFunc(losses, mayContainKeys) {
		fmt.Fprintln(a.err, "API keys may be among what is lost. If requests are refused without a key, make one with varve keys create.")
	}
	fmt.Fprintln(a.err, "The store verifies.")
	kept, err := local.SetAside(c.Store.Dir)
	if len(kept) > 0 {
		fmt.Fprintf(a.err, "Damaged files are kept: %s. Delete them when you no longer need them.\n", strings.Join(kept, ", "))
	}
	return err
}

// applyRepair opens the store in spite of damage, accepts the losses, and recounts
// roll-ups.
func (a repairer) applyRepair(ctx context.Context, c *config.Config) (losses []local.Loss, recounted []wire.Damage, err error) {
	log := a.logger(config.Log{Level: "warn"})
	events := localEvents(log, a.fatal)
	events.Lost = func(list []local.Loss) { losses = append(losses, list...) }
	// Guard the item that turns keys on: if API keys may be lost, the repaired server must still require
	// one. Otherwise it would accept requests of all clients.
	keysOn := apikeys.OnMark(now())
	s, err := local.Open(local.Options{Dir: c.Store.Dir, Now: now, MinFree: -1, Salvage: true, Guarded: []store.Key{keysOn.Key}, Events: events})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Verify(ctx, local.Pace{}, func(local.Problem) {}); err != nil {
		return nil, nil, err
	}
	accepted, err := s.AcceptLosses(ctx, keysOn)
	losses = append(losses, accepted...)
	if err != nil {
		return losses, nil, err
	}
	recounted, err = recountRollups(ctx, c, s, losses)
	return losses, recounted, err
}

func (a repairer) showRepair(list []wire.Damage, losses string) error {
	g := listing{header: []string{"place", "problem", losses}, empty: "Nothing to repair."}
	for _, d := range list {
		for _, l := range append(d.Losses, "")[:max(1, len(d.Losses))] {
			g.add(d.Place, d.Problem, l)
		}
	}
	return a.show(&g, map[string]any{"findings": list})
}
