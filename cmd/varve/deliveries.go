package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/notify"
)

var lateModes = []string{"notify", "digest", "silent"}

func (a alertCommands) deliveries() *cobra.Command {
	var pending, failed bool
	var limit int
	cmd := &cobra.Command{
		Use: "deliveries", Short: "List the messages about alerts to notifiers, the newest first", Args: cobra.NoArgs,
		Example: "  varve alerts deliveries\n  varve alerts deliveries --pending\n  varve alerts deliveries --failed -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			state := ""
			switch {
			case pending && failed:
				return usageError{errors.New("--pending excludes --failed: use one")}
			case pending:
				state = string(notify.Pending)
			case failed:
				state = string(notify.Failed)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, more, err := gather(limit, func(l client.List) ([]wire.DeliveryBody, string, error) {
				page, err := c.Deliveries(cmd.Context(), state, l)
				return page.Deliveries, page.Next, err
			})
			if err != nil {
				return err
			}
			return errors.Join(a.showDeliveries(list), a.sayCut(more))
		},
	}
	cmd.Flags().BoolVar(&pending, "pending", false, "only messages that are not delivered yet")
	cmd.Flags().BoolVar(&failed, "failed", false, "only messages that have failed permanently")
	limitFlag(cmd, &limit, "messages")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a alertCommands) showDeliveries(list []wire.DeliveryBody) error {
	g := listing{
		header:   []string{"queued", "state", "notifier", "type", "device", "rule", "attempts", "next", "error", "alert"},
		optional: []string{"next", "error", "attempts"},
		empty:    "No messages: varve serve sends them to the notifiers in its configuration.", explain: true,
	}
	for i := range list {
		d, next := &list[i], ""
		if d.NextAt != nil {
			next = moment(*d.NextAt)
		}
		g.add(moment(d.QueuedAt), d.State, d.Notifier, d.Type, d.Device, d.Rule, fmt.Sprint(d.Attempts), next, d.Error, d.Alert)
	}
	return a.show(&g, wire.DeliveryList{Deliveries: list})
}

// testWithin limits the time of the attempt of varve alerts notify-test.
const testWithin = 15 * time.Second

func (a alertCommands) notifyTest() *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: "notify-test NOTIFIER", Short: "Send a test message to a notifier in the configuration", Args: takes(1, 1),
		Long: "Send a test message to a notifier in the configuration. It is sent by this command, not by the service:\n" +
			"run it on the machine of the service, with the same configuration.",
		Example: "  varve alerts notify-test ops --config varve.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := f.load(a.app)
			if err != nil {
				return err
			}
			targets, err := targetsOf(cmd.Context(), &loaded.Config)
			if err != nil {
				return usageError{err}
			}
			for _, t := range targets {
				if t.Name == args[0] {
					return a.sendTest(cmd.Context(), t)
				}
			}
			return usageError{fmt.Errorf("notifier %q is not in the configuration: varve config print lists them", args[0])}
		},
	}
	f.add(cmd)
	return cmd
}

func (a alertCommands) sendTest(ctx context.Context, t notify.Target) error {
	ctx, cancel := context.WithTimeout(ctx, testWithin)
	defer cancel()
	m := notify.NewTest(now())
	err := t.Notifier.Send(ctx, m)
	if c, ok := t.Notifier.(notify.Closer); ok {
		c.Close()
	}
	if err != nil {
		return fmt.Errorf("notifier %s: %w", t.Name, err)
	}
	_, err = fmt.Fprintf(a.out, "Notifier %s has taken message %s.\n", t.Name, m.ID)
	return err
}
