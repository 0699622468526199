package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type rejectCommands struct{ *app }

func rejectsCommand(a *app) *cobra.Command {
	c := rejectCommands{a}
	return group("rejects", "List, replay and delete rejected readings", c.list(), c.get(), c.replay(), c.delete())
}

// rejectCodes are the codes that most rejects have, for completion.
var rejectCodes = []string{
	string(varve.CodeTimeInFuture), string(varve.CodeTimeTooOld), string(varve.CodeTimeUnit), string(varve.CodeTimeInvalid), string(varve.CodeTimeMissing),
	string(varve.CodeDeviceInvalid), string(varve.CodeFieldInvalid), string(varve.CodeMalformed), string(varve.CodeConflict), string(varve.CodeQuarantined),
}

// selectFlags adds the flags that select rejects. The argument "device" is the name of the flag for
// the device.
func (a rejectCommands) selectFlags(cmd *cobra.Command, s *wire.RejectSelection, device string) {
	f := cmd.Flags()
	f.StringVar(&s.Stream, "stream", "", "only rejects of this `stream`")
	f.StringVar(&s.Device, device, "", "only rejects of this `device`")
	f.StringVar(&s.Code, "code", "", "only rejects with this `code`, such as time_in_future")
	f.StringVar(&s.Door, "door", "", "only rejects that arrived through this `protocol`, such as http")
	f.StringVar(&s.Since, "since", "", "only rejects whose last arrival is not before this `time`: RFC 3339, a date or month, now, today, yesterday, or relative as in -24h or -1mo")
	windowFlags(cmd, &s.From, &s.To, &s.During)
	cmd.MarkFlagsMutuallyExclusive("since", "from")
	cmd.MarkFlagsMutuallyExclusive("since", "during")
	a.words(cmd, "code", rejectCodes...)
}

func (a rejectCommands) list() *cobra.Command {
	var s wire.RejectSelection
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the rejected readings, the latest arrival first", Args: takes(0, 0),
		Example: "  varve rejects list --stream weather --code time_in_future\n  varve rejects list --since -24h -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var notes []wire.Note
			list, more, err := gather(limit, func(l client.List) ([]wire.RejectBody, string, error) {
				page, err := c.Rejects(cmd.Context(), s, l)
				notes = page.Notes
				return page.Rejects, page.Next, err
			})
			if err != nil {
				return err
			}
			if len(list) == 0 {
				a.sayNotes(notes)
			}
			return errors.Join(a.showRejects(list), a.sayCut(more))
		},
	}
	a.selectFlags(cmd, &s, "device")
	limitFlag(cmd, &limit, "rejects")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a rejectCommands) showRejects(list []wire.RejectBody) error {
	g := listing{
		header:   []string{"last", "stream", "device", "code", "times", "id", "message", "door", "from"},
		optional: []string{"from", "door", "message", "times"}, empty: "No such rejects.", explain: true,
	}
	for i := range list {
		r := &list[i]
		g.add(moment(r.Last), r.Stream, r.Device, r.Code, strconv.FormatInt(r.Times, 10), r.ID, r.Message, r.Door, r.From)
	}
	return a.show(&g, wire.RejectList{Rejects: list})
}

func (a rejectCommands) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Print a reject with its text", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			r, err := c.Reject(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.output == "json" {
				return writeJSON(a.out, r)
			}
			a.showReject(&r)
			return nil
		},
	}
	return a.remote(cmd, "text", "json")
}

// showReject prints all properties of a reject. The texts of a reject are escaped, because devices sent
// them.
func (a rejectCommands) showReject(r *wire.RejectBody) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "%-9s %s\n", name, printable(text))
		}
	}
	line("id", r.ID)
	line("stream", r.Stream)
	line("device", r.Device)
	line("verdict", r.Code+": "+r.Message)
	if r.Time != nil {
		line("time", exact(*r.Time))
	}
	line("arrived", fmt.Sprintf("%s, first %s, %d times", exact(r.Last), exact(r.First), r.Times))
	line("door", r.Door)
	line("from", r.From)
	line("format", r.Format)
	line("options", r.Options)
	line("header", r.Header)
	line("text", r.Text)
	line("base64", r.Base64)
	if !r.Replayable {
		line("replay", "not possible: the text is not complete, or the stream is unknown")
	}
}

func (a rejectCommands) delete() *cobra.Command {
	var s wire.RejectSelection
	var all bool
	cmd := &cobra.Command{
		Use: "delete [ID…]", Short: "Delete rejects", Args: takes(0, -1),
		Example: "  varve rejects delete 3f0a9c1be27d4455a6017788\n  varve rejects delete --stream weather --code malformed\n  varve rejects delete --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSelection(args, s, all); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			var sum wire.DeletedRejects
			for _, id := range args {
				one, err := c.DeleteReject(cmd.Context(), id)
				if err != nil {
					return fmt.Errorf("%d rejects were deleted: %w", sum.Deleted, err)
				}
				sum.Deleted += one.Deleted
			}
			for l := (client.List{Limit: pageSize}); len(args) == 0; {
				page, err := c.DeleteRejects(cmd.Context(), s, l)
				if err != nil {
					return fmt.Errorf("%d rejects were deleted: %w", sum.Deleted, err)
				}
				sum.Deleted += page.Deleted
				if l.Cursor = page.Next; l.Cursor == "" {
					break
				}
			}
			if a.output == "json" {
				return writeJSON(a.out, sum)
			}
			_, err = fmt.Fprintf(a.out, "%s deleted.\n", plural(sum.Deleted, "reject"))
			return err
		},
	}
	a.selectFlags(cmd, &s, "device")
	cmd.Flags().BoolVar(&all, "all", false, "all rejects")
	return a.remote(cmd, "text", "json")
}

// checkSelection checks that rejects are selected in exactly one way: by ids, by flags such as --stream,
// or all.
func checkSelection(ids []string, s wire.RejectSelection, all bool) error {
	filtered := s != wire.RejectSelection{}
	switch {
	case len(ids) > 0 && (filtered || all), all && filtered:
		return usageError{errors.New("ids, --all and filters exclude each other: use one of them")}
	case len(ids) == 0 && !filtered && !all:
		return usageError{errors.New("no rejects are selected: use ids, a filter such as --stream, or --all")}
	}
	return nil
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}
