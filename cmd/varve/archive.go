package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

type archiveCommands struct{ *app }

func archiveCommand(a *app) *cobra.Command {
	c := archiveCommands{a}
	return group("archive", "Archive tables, verify archives and restore tables from them",
		c.list(),
		c.each("now TABLE…", "Archive tables now, and wait until their archives are verified", "archived", (*client.Client).ArchiveTable),
		c.each("verify TABLE…", "Read and recount the archives of tables", "verified", (*client.Client).VerifyArchive),
		c.each("restore TABLE…", "Write dropped tables back from archives, and put them on hold", "restored, and on hold until varve tables release",
			(*client.Client).RestoreArchive),
		c.accept(), c.hold(), c.release(),
		queryCommands(c).queryArchives())
}

func (a archiveCommands) hold() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hold TABLE REASON", Short: "Put an archive on hold, so that it is kept beyond its retention", Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return usageError{errors.New("REASON: empty: state why the archive must be kept, as in 'case 17'")}
			}
			return a.changeHold(func(c *client.Client) (wire.ArchiveInfo, error) {
				return c.HoldArchive(cmd.Context(), args[0], args[1])
			})
		},
	}
	return a.remote(cmd)
}

func (a archiveCommands) release() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release TABLE", Short: "Release the hold on an archive", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeHold(func(c *client.Client) (wire.ArchiveInfo, error) { return c.ReleaseArchive(cmd.Context(), args[0]) })
		},
	}
	return a.remote(cmd)
}

// changeHold calls the function "change", which sets or releases a hold on an archive, and prints the
// result.
func (a archiveCommands) changeHold(change func(*client.Client) (wire.ArchiveInfo, error)) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	r, err := change(c)
	if err != nil {
		return err
	}
	state := "no longer on hold"
	if r.Hold != "" {
		state = "on hold: " + printable(r.Hold)
	}
	_, err = fmt.Fprintf(a.out, "The archive of %s is %s.\n", r.Table, state)
	return err
}

// queryArchives returns the command that prints readings of archived tables only.
func (a queryCommands) queryArchives() *cobra.Command {
	q := client.Query{Archive: "only"}
	return a.ofDevice(&cobra.Command{
		Use: "query STREAM DEVICE", Short: "Print the readings of a device in archived tables",
		Long: "Print the readings of a device in archived tables, whether the tables still exist or not.\n" +
			"To read existing tables, too, use varve query --archive.",
		Example: "  varve archive query weather sensor_01 --during 2024-04",
	}, &q)
}

// archiveFlag adds the flag of a query that also reads archived tables.
func (a queryCommands) archiveFlag(cmd *cobra.Command, archive *string) {
	f := cmd.Flags()
	f.StringVar(archive, "archive", "", "`true`: also archived tables, and expired readings; only: only archived tables; false: neither (default: the stream's setting)")
	f.Lookup("archive").NoOptDefVal = "true"
	a.words(cmd, "archive", "true", "only", "false")
}

func (a archiveCommands) list() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the archives of tables", Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Archives(cmd.Context())
			if err != nil {
				return err
			}
			some, more := limited(list.Archives, limit)
			list.Archives = some
			return errors.Join(a.showArchives(&list), a.sayCut(more))
		},
	}
	limitFlag(cmd, &limit, "archives")
	return a.remote(cmd, "table", "json", "ndjson", "csv")
}

func (a archiveCommands) showArchives(list *wire.ArchiveList) error {
	g := listing{
		header:   []string{"from", "to", "written", "class", "state", "readings", "bytes", "archived", "dropped", "merged", "hold", "table", "manifest"},
		optional: []string{"manifest", "merged", "hold", "table", "class"},
		empty:    "No table is archived.",
	}
	if list.Location == "" {
		g.empty = "No archive is configured: set archive.kind to folder or s3."
	}
	for i := range list.Archives {
		r := &list.Archives[i]
		dropped := "yes"
		if r.Exists {
			dropped = "no"
		}
		g.add(date(r.From), date(r.To), r.WriteMonth, r.Class, r.State, a.number(r.Readings), a.bytes(r.Bytes), dateOrNever(r.At), dropped, r.Merged, r.Hold, r.Table, r.Manifest)
	}
	return a.show(&g, list)
}

// each returns a command that calls the server once for each table argument, in order.
func (a archiveCommands) each(use, short, done string, call func(*client.Client, context.Context, string) (wire.ArchiveInfo, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, tables []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			list := wire.ArchiveList{}
			for _, table := range tables {
				r, err := call(c, cmd.Context(), table)
				if err != nil && !strings.Contains(err.Error(), table) {
					err = fmt.Errorf("%s: %w", table, err)
				}
				if err != nil {
					a.showUnrecorded(a.err, unrecordedOf(err))
					return err
				}
				list.Archives = append(list.Archives, r)
				if a.output == "table" {
					fmt.Fprintf(a.out, "%s: %s: %s in %s, %s\n", r.Table, done, count(int(r.Readings), "reading"), count(int(r.Files), "file"), bytesText(r.Bytes))
					a.showUnrecorded(a.out, r.Unrecorded)
				}
			}
			if a.output == "table" {
				return nil
			}
			return a.showArchives(&list)
		},
	}
	return a.remote(cmd, "table", "json", "csv")
}
