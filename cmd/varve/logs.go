package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

type logCommands struct{ *app }

func logsCommand(a *app) *cobra.Command {
	c := logCommands{a}
	return group("logs", "Write and list device logs",
		c.add(),
		c.list("list DEVICE", "Print a device's log, the newest entry first", func(q *client.LogQuery, name string) { q.Device = name }),
		c.list("operator OPERATOR", "Print the entries of an operator, the newest first", func(q *client.LogQuery, name string) { q.Operator = name }),
		c.list("escalated SUPERVISOR", "Print what was escalated to a supervisor, the newest entry first", func(q *client.LogQuery, name string) { q.Supervisor = name }))
}

func (a logCommands) add() *cobra.Command {
	var l wire.LogPost
	var at, attributes string
	cmd := &cobra.Command{
		Use: "add DEVICE STATE", Short: "Write an entry of a device's log", Args: takes(2, 2),
		Example: "  varve logs add sensor_01 WARNING --message 'battery at 9 %' --operator Liz --escalate Sara",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			l.State = args[1]
			if at == "" {
				at = now().UTC().Format(time.RFC3339Nano)
			}
			if l.Time, err = json.Marshal(at); err != nil {
				return err
			}
			if attributes != "" {
				if l.Attributes = json.RawMessage(attributes); !json.Valid(l.Attributes) {
					return usageError{fmt.Errorf(`--attributes: %s is not JSON, as in {"code":17}`, attributes)}
				}
			}
			answer, err := c.AddLog(cmd.Context(), args[0], l)
			if err != nil {
				return err
			}
			return a.showAdded(&answer)
		},
	}
	f := cmd.Flags()
	f.StringVar(&at, "time", "", "when it was: RFC 3339, or milliseconds since 1970 (default: now)")
	f.StringVar(&l.ID, "id", "", "with --time, the id of the entry; other content under it is a conflict (default: computed from the content)")
	f.StringVarP(&l.Message, "message", "m", "", "what happened")
	f.StringVar(&l.Operator, "operator", "", "the `person` in charge")
	f.StringVar(&l.EscalatedTo, "escalate", "", "the informed `supervisor`")
	f.StringVar(&attributes, "attributes", "", "anything else, as a JSON `object`")
	return a.remote(cmd, "table", "json")
}

// showAdded prints the answer to a new log entry. It fails if the entry is a conflict.
func (a logCommands) showAdded(answer *wire.LogAnswer) error {
	var err error
	switch {
	case a.output == "json":
		err = writeJSON(a.out, answer)
	case answer.Sent == nil:
		_, err = fmt.Fprintf(a.out, "%s %s is %s.\n", answer.Log.Device, exact(answer.Log.Time), answer.Verdict)
	}
	if err != nil || answer.Sent == nil {
		return err
	}
	return errors.New(answer.Message)
}

func exact(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// list returns one of the commands "list", "operator" and "escalated".
func (a logCommands) list(use, short string, of func(*client.LogQuery, string)) *cobra.Command {
	var q client.LogQuery
	var order string
	var limit int
	cmd := &cobra.Command{
		Use: use, Short: short, Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.Order, err = query.ParseOrder(order); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			if of(&q, args[0]); args[0] == "" {
				return usageError{errors.New("the name is empty")}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, more, err := gather(limit, func(l client.List) ([]wire.LogBody, string, error) {
				page, err := c.Logs(cmd.Context(), q, l)
				return page.Logs, page.Next, err
			})
			if err != nil {
				return err
			}
			return errors.Join(a.showLogs(list), a.sayCut(more))
		},
	}
	f := cmd.Flags()
	if cmd.Name() != "operator" {
		f.StringVar(&q.State, "state", "", "only entries of this state, or of states with a prefix, as in WARNING*")
	}
	f.StringVar(&q.From, "from", "", "from this `time` on: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo")
	f.StringVar(&q.To, "to", "", "before this `time`")
	f.StringVar(&q.During, "during", "", "a year, month, day, hour or minute in UTC, as in 2024-12-01T14")
	f.StringVar(&order, "order", "desc", "asc or desc")
	limitFlag(cmd, &limit, "entries")
	a.words(cmd, "order", "asc", "desc")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a logCommands) showLogs(list []wire.LogBody) error {
	g := listing{header: []string{"time", "device", "state", "message", "operator", "escalated to"}, empty: "No such entries.", explain: true}
	if a.output == "csv" {
		g.header = append(g.header, "id", "attributes")
	}
	for _, l := range list {
		row := []string{exact(l.Time), l.Device, l.State, l.Message, l.Operator, l.EscalatedTo}
		if a.output == "csv" {
			row = append(row, l.ID, string(l.Attributes))
		}
		g.add(row...)
	}
	return a.show(&g, wire.LogList{Logs: list})
}
