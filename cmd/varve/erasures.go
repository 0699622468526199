package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type erasureCommands struct{ *app }

func erasuresCommand(a *app) *cobra.Command {
	c := erasureCommands{a}
	return group("erasures", "List erasures and print their progress", c.list(), c.get())
}

// eraseEvery is the interval at which --wait requests the state of an erasure.
const eraseEvery = 2 * time.Second

func (a erasureCommands) erase() *cobra.Command {
	var t client.ErasureTarget
	var digest string
	var wait bool
	cmd := &cobra.Command{
		Use: "erase DEVICE", Short: "Delete a device's readings and all data derived from them", Args: takes(1, 1),
		Long: "Delete the readings of a device before they expire, with their roll-ups, alerts and rejects.\n" +
			"Without --stream, all streams and the log of the device are erased. Without --from and --to, its registration, too.\n\n" +
			"The command prints the plan first. On a terminal, type the name of the device to confirm it. Elsewhere, use --plan.\n" +
			"Readings that arrive after the plan are kept. Readings in tables on hold stay until the release.\n" +
			"Archives are rewritten. Backups keep the readings until they are pruned.",
		Example: "  varve devices erase sensor_01\n" +
			"  varve devices erase sensor_01 --stream weather --from 2026-04-01 --to 2026-05-01\n" +
			"  varve devices erase sensor_01 --plan DIGEST --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Device = args[0]
			c, err := a.client()
			if err != nil {
				return err
			}
			if digest == "" {
				p, err := c.PlanErasure(cmd.Context(), t)
				if err != nil {
					return err
				}
				if err := a.showErasurePlan(&p); err != nil {
					return err
				}
				if confirmed, err := a.confirm(&p); err != nil || !confirmed {
					return err
				}
				digest = p.Digest
			}
			e, err := c.BeginErasure(cmd.Context(), t, digest)
			if err != nil {
				return err
			}
			if wait {
				return a.awaitErasure(cmd, c, e)
			}
			_, err = fmt.Fprintf(a.out, "Erasure %s has begun: varve erasures get %s prints its progress.\n", e.ID, e.ID)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.Stream, "stream", "", "only this `stream`")
	f.StringVar(&t.From, "from", "", "from this event `time` on, a whole hour")
	f.StringVar(&t.To, "to", "", "before this event `time`, a whole hour")
	f.StringVar(&t.Tenant, "tenant", "", "the `tenant` of the device (default: default)")
	f.StringVar(&digest, "plan", "", "erase without confirmation if this is still the `digest` of the plan")
	f.BoolVar(&wait, "wait", false, "wait until nothing is left, or only tables on hold have readings")
	return a.remote(cmd, "table", "json", "csv")
}

func (a erasureCommands) showErasurePlan(p *wire.ErasurePlan) error {
	g := listing{header: []string{"table", "stream", "readings", "hold"}, empty: "No readings."}
	for _, c := range p.Tables {
		g.add(c.Table, c.Stream, a.number(c.Readings), c.Hold)
	}
	for _, c := range p.Archives {
		g.add("archive of "+c.Table, c.Stream, "up to "+a.number(c.Readings), c.Hold)
	}
	if err := a.show(&g, p); err != nil || a.output != "table" {
		return err
	}
	parts := []string{numbered(p.Readings, "reading")}
	for _, c := range []struct {
		n    int
		name string
	}{{p.Rollups, "roll-up"}, {p.Alerts, "alert"}, {p.Logs, "log entry"}, {p.Rejects, "reject"}, {p.Records, "other record"}} {
		if c.n > 0 {
			parts = append(parts, numbered(int64(c.n), c.name))
		}
	}
	if p.Registration {
		parts = append(parts, "the registration")
	}
	_, err := fmt.Fprintf(a.out, "\nThe plan deletes from device %s: %s.\n%s in tables on hold stay until the release.\nReadings that arrive after %s are kept.\n",
		p.Device, strings.Join(parts, ", "), numbered(p.Held, "reading"), moment(p.Arrived))
	return err
}

func numbered(n int64, name string) string {
	plural := name + "s"
	if strings.HasSuffix(name, "y") {
		plural = strings.TrimSuffix(name, "y") + "ies"
	}
	if n == 1 {
		return "1 " + name
	}
	return strconv.FormatInt(n, 10) + " " + plural
}

// confirm asks for the name of the device on a terminal. Elsewhere, it prints the flag that applies the
// plan, and returns false.
func (a erasureCommands) confirm(p *wire.ErasurePlan) (bool, error) {
	in, isFile := a.in.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		_, err := fmt.Fprintf(a.err, "Nothing was changed: --plan %s carries this out, and refuses any other plan.\n", p.Digest)
		return false, err
	}
	fmt.Fprintf(a.err, "To delete this data permanently, type the name of the device: ")
	text, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if strings.TrimRight(text, "\r\n") != p.Device {
		return false, errors.New("nothing was changed: the name differs")
	}
	return true, nil
}

// awaitErasure prints each state of an erasure until it is done or held.
func (a erasureCommands) awaitErasure(cmd *cobra.Command, c *client.Client, e wire.ErasureBody) error {
	tick := time.NewTicker(eraseEvery)
	defer tick.Stop()
	last := ""
	for {
		if text := erasureText(&e); text != last {
			last = text
			fmt.Fprintln(a.err, text)
		}
		if e.State == "done" || e.State == "held" {
			return a.showErasure(&e)
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-tick.C:
		}
		var err error
		if e, err = c.Erasure(cmd.Context(), e.ID); err != nil {
			return err
		}
	}
}

func erasureText(e *wire.ErasureBody) string {
	text := fmt.Sprintf("%s: %s, %d of %s erased", e.ID, e.State, e.Readings, numbered(e.Planned, "reading"))
	switch {
	case e.Problem != "":
		text += ": " + e.Problem
	case e.State == "settling" && e.Next != nil:
		text += "; everything is read once more at " + moment(*e.Next)
	}
	return text
}

func (a erasureCommands) list() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List all erasures, the latest first", Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Erasures(cmd.Context())
			if err != nil {
				return err
			}
			g := listing{header: []string{"id", "device", "stream", "from", "to", "state", "readings", "by", "ended"}, optional: []string{"by", "from", "to"}, empty: "No erasure has begun."}
			for i := range list.Erasures {
				e := &list.Erasures[i]
				g.add(e.ID, e.Device, e.Stream, limitText(e.From), limitText(e.To), e.State, a.number(e.Readings), e.By, limitText(e.Ended))
			}
			return a.show(&g, list)
		},
	}
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func limitText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return moment(*t)
}

func (a erasureCommands) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ID", Short: "Print the state of an erasure, and the number of deleted records", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			e, err := c.Erasure(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showErasure(&e)
		},
	}
	return a.remote(cmd, "table", "json", "csv")
}

func (a erasureCommands) showErasure(e *wire.ErasureBody) error {
	g := listing{header: []string{"what", "value"}}
	registration := ""
	if e.Registration {
		registration = "erased"
	}
	for _, row := range [][2]string{
		{"erasure", e.ID}, {"device", e.Device}, {"tenant", e.Tenant}, {"stream", e.Stream}, {"from", limitText(e.From)}, {"to", limitText(e.To)},
		{"state", e.State}, {"problem", e.Problem}, {"begun", moment(e.Begun)}, {"by", e.By}, {"next", limitText(e.Next)}, {"ended", limitText(e.Ended)},
		{"passes", strconv.Itoa(e.Passes)}, {"readings", a.number(e.Readings)}, {"planned", a.number(e.Planned)},
		{"roll-ups", strconv.Itoa(e.Rollups)}, {"alerts", strconv.Itoa(e.Alerts)}, {"log entries", strconv.Itoa(e.Logs)},
		{"rejects", strconv.Itoa(e.Rejects)}, {"other records", strconv.Itoa(e.Records)}, {"registration", registration},
	} {
		if row[1] != "" {
			g.add(row[0], row[1])
		}
	}
	for _, c := range e.Holds {
		g.add("on hold", fmt.Sprintf("%s of %s in %s: %s", numbered(c.Readings, "reading"), c.Stream, c.Table, c.Hold))
	}
	return a.show(&g, e)
}
