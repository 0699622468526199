package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func (a rejectCommands) replay() *cobra.Command {
	var r wire.ReplayRequest
	var all bool
	cmd := &cobra.Command{
		Use: "replay [ID…]", Short: "Reread rejects with other options, and store their readings", Args: takes(0, -1),
		Long: "Reread the texts of rejects with other options, and store their readings. Numbers and ids are as they were sent.\n" +
			"A reject is deleted after its readings are durable. Other rejects stay. A repeated replay stores nothing twice.",
		Example: "  varve rejects replay --stream weather --code time_unit --precision s --dry-run\n" +
			"  varve rejects replay --of sensor_01 --code time_in_future --shift -2h\n" +
			"  varve rejects replay 3f0a9c1be27d4455a6017788 --device sensor_01",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSelection(args, r.Select, all); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			sum, err := a.replayAll(cmd, c, &r, args)
			if shown := a.showReplay(&sum, r.DryRun); err == nil {
				err = shown
			}
			if err != nil {
				return err
			}
			if sum.Rejected > 0 || sum.Skipped > 0 {
				return exitError(exitRejected)
			}
			return nil
		},
	}
	a.selectFlags(cmd, &r.Select, "of")
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "all rejects")
	f.StringVar(&r.Precision, "precision", "", "`unit` of numeric times: s, ms, us or ns (default: as sent)")
	f.StringVar(&r.Shift, "shift", "", "add this `duration` to event times, as in -2h or 1d")
	f.StringVar(&r.Device, "device", "", "replace the device by this `device`")
	f.StringVar(&r.Time, "time", "", "arrival: replace the event time by the first arrival (default: sent)")
	f.BoolVar(&r.DryRun, "dry-run", false, "only check the readings: store and delete nothing")
	a.words(cmd, "precision", "s", "ms", "us", "ns")
	a.words(cmd, "time", "sent", "arrival")
	return a.remote(cmd, "text", "json")
}

// replayAll replays the rejects with the ids, or all selected ones. If it fails, the result "sum"
// counts the rejects that were replayed before the failure. A missing reject is reported, and is not a
// failure, because an earlier replay with a lost answer may have deleted it.
func (a rejectCommands) replayAll(cmd *cobra.Command, c *client.Client, r *wire.ReplayRequest, ids []string) (sum wire.ReplayAnswer, err error) {
	for _, id := range ids {
		one, err := c.ReplayReject(cmd.Context(), id, r.ReplayOptions)
		if varve.FailureOf(err) == varve.NotFound {
			fmt.Fprintf(a.err, "%s: not found: it may have been replayed or deleted already\n", printable(id))
			continue
		}
		if err != nil {
			return sum, err
		}
		addReplay(&sum, &one)
	}
	if len(ids) > 0 {
		return sum, nil
	}
	for r.Limit = pageSize; ; {
		page, err := c.ReplayRejects(cmd.Context(), *r)
		if err != nil {
			return sum, err
		}
		addReplay(&sum, &page)
		if r.Cursor = page.Next; r.Cursor == "" {
			return sum, nil
		}
	}
}

// maxShownProblems limits the problems that are printed.
const maxShownProblems = 10

func addReplay(sum, one *wire.ReplayAnswer) {
	sum.Rejects, sum.Stored, sum.Duplicates, sum.Rejected = sum.Rejects+one.Rejects, sum.Stored+one.Stored, sum.Duplicates+one.Duplicates, sum.Rejected+one.Rejected
	sum.Valid, sum.Skipped, sum.Deleted = sum.Valid+one.Valid, sum.Skipped+one.Skipped, sum.Deleted+one.Deleted
	sum.Problems = append(sum.Problems, one.Problems[:min(len(one.Problems), max(0, maxShownProblems-len(sum.Problems)))]...)
}

// showReplay prints the sums of a replay, and some of its problems.
func (a rejectCommands) showReplay(sum *wire.ReplayAnswer, dryRun bool) error {
	if a.output == "json" {
		return writeJSON(a.out, sum)
	}
	for _, p := range sum.Problems {
		fmt.Fprintf(a.err, "%s: %s: %s\n", p.ID, p.Code, printable(p.Message))
	}
	if dryRun {
		_, err := fmt.Fprintf(a.out, "%s: %s valid, %d rejected; nothing was stored.\n", plural(sum.Rejects, "reject"), plural(sum.Valid, "reading"), sum.Rejected)
		return err
	}
	_, err := fmt.Fprintf(a.out, "%s: %s stored, %d duplicates, %d rejected; %s deleted.\n",
		plural(sum.Rejects, "reject"), plural(sum.Stored, "reading"), sum.Duplicates, sum.Rejected, plural(sum.Deleted, "reject"))
	return err
}
