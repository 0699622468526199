package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/streams"
)

type dynamoRepair struct {
	dynamo.Repairing
	apply      bool
	acceptLoss bool
}

func (r *dynamoRepair) addDynamo(flags *pflag.FlagSet) {
	flags.BoolVar(&r.Scan, "scan", false, "on DynamoDB, read all rows of all tables, instead of the tables' own records")
	flags.Float64Var(&r.Rate, "rate", 0, "on DynamoDB, maximum number of read units a second for scans; 0 means no limit")
	flags.BoolVar(&r.acceptLoss, "accept-loss", false, "on DynamoDB, stop reporting deleted tables as missing: their readings are known to be lost")
}

// repairStep is one change of a repair, or a task for the operator.
type repairStep struct {
	Step string `json:"step"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// repairDynamo prints the changes of a repair, and makes them if --apply is set.
func (a repairer) repairDynamo(ctx context.Context, c *config.Config, r dynamoRepair) (err error) {
	options, err := dynamoOptions(ctx, c, 0)
	if err != nil {
		return err
	}
	options.MustExist = !r.apply
	s, err := dynamo.Open(ctx, options)
	if err != nil {
		return nameRegistry(err, options.Registry)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	plan, err := s.PlanRepair(ctx, r.Repairing)
	if err != nil {
		return err
	}
	registry := streams.New(s, now)
	policy := c.Policy()
	registry.RecoverFrom(s, func(prefix string) (string, bool) {
		class, ok := policy.ClassOfPrefix(prefix)
		return class.Name, ok
	})
	items, err := registry.PlanRepairs(ctx, plan.Streams)
	if err != nil {
		return err
	}
	steps := repairSteps(&plan, items, r.acceptLoss, policy)
	g := listing{header: []string{"step", "what", "why"}, empty: "Nothing to repair."}
	for _, step := range steps {
		g.add(step.Step, step.What, step.Why)
	}
	if err := a.show(&g, map[string]any{"steps": steps}); err != nil || !r.apply {
		return err
	}
	return errors.Join(registry.Apply(ctx, items), s.Repair(ctx, &plan, r.acceptLoss))
}

// repairSteps lists the changes of a repair, and the findings that the repair does not change.
func repairSteps(p *dynamo.RepairPlan, items []streams.Repair, acceptLoss bool, policy *retention.Policy) []repairStep {
	steps := []repairStep{}
	for _, it := range items {
		why := "tables have it in other classes, rows or shards than the registry"
		if it.Missing {
			why = "tables have it, and the registry does not"
		}
		steps = append(steps, repairStep{"write stream", fmt.Sprintf("%s/%s: classes %s, row window %s, %s spread",
			it.Tenant, it.Name, strings.Join(it.Classes, " "), max(it.Window, 1e6), count(len(it.Shards), "device")), why})
	}
	for _, row := range p.Rows {
		steps = append(steps, repairStep{"write row", fmt.Sprintf("%s: %s/%s", row.Table, row.Tenant, row.Stream), "the table has no record of the stream's layout"})
	}
	for _, text := range p.Damaged {
		steps = append(steps, repairStep{"leave", text, "delete the row by hand, and repair again"})
	}
	for _, t := range p.Lost {
		step := repairStep{"leave", t.Name(), "deleted by another program: restore it from a backup, or accept the loss with --accept-loss"}
		if acceptLoss {
			step.Step, step.Why = "accept loss", "somebody deleted it"
		}
		steps = append(steps, step)
	}
	for _, found := range p.Streams {
		for _, prefix := range found.Prefixes {
			if _, ok := policy.ClassOfPrefix(prefix); !ok {
				steps = append(steps, repairStep{"leave", found.Tenant + "/" + found.Stream + " in tables " + prefix, "no class is configured for their prefix"})
			}
		}
	}
	return slices.Clip(steps)
}
