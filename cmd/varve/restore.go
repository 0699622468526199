package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/timefmt"
)

// restoreFlags select a backup. If asOf is set, readings that arrived after that time are removed.
type restoreFlags struct {
	configFlags
	data, name, until, asOf string
}

func restoreCommand(a *app) *cobra.Command {
	c := backupCommands{a}
	var f restoreFlags
	cmd := &cobra.Command{
		Use: "restore PLACE --data FOLDER", Short: "Restore an embedded store from a backup", Args: takes(1, 1),
		Long: "Restore an embedded store from a backup, into a new folder. Each file is checked, and then the whole store.\n" + placeHelp +
			"Without --backup, --until or --as-of, it restores the last backup.\n" +
			"With --as-of, it restores the first backup made after that time, and removes the readings that arrived later from the new folder.\n" +
			"Devices, rules, keys and alerts are as of the backup. The configuration is read only with --as-of, for its retention.",
		Example: "  varve restore /mnt/backups --data restored\n  varve restore s3://acme-backups/varve --data restored --until 2026-11-20\n" +
			"  varve restore /mnt/backups --data restored --as-of 2026-11-20T14:30:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.data == "" {
				return usageError{fmt.Errorf("--data: missing: name a new folder")}
			}
			return c.runRestore(cmd.Context(), args[0], &f)
		},
	}
	f.addSome(cmd)
	cmd.Flags().StringVar(&f.data, "data", "", "the new data `folder`")
	cmd.Flags().StringVar(&f.name, "backup", "", "the `name` of the backup: varve backup list shows them")
	cmd.Flags().StringVar(&f.until, "until", "", "restore the last backup made at this `time` or earlier")
	cmd.Flags().StringVar(&f.asOf, "as-of", "", "restore only the readings that had arrived by this `time`")
	cmd.MarkFlagsMutuallyExclusive("backup", "until")
	cmd.MarkFlagsMutuallyExclusive("as-of", "until")
	return cmd
}

func (c backupCommands) runRestore(ctx context.Context, place string, f *restoreFlags) error {
	if f.asOf != "" {
		return c.restoreAsOf(ctx, place, f)
	}
	var last time.Time
	if f.until != "" {
		var err error
		if last, err = readTime("--until", f.until); err != nil {
			return err
		}
	}
	p, err := openPlace(ctx, place, true)
	if err != nil {
		return err
	}
	m, err := p.Select(ctx, f.name, last)
	if err != nil {
		return err
	}
	return c.restore(ctx, p, m, f.data, nil)
}

// restore restores a backup into a folder, and checks the resulting store. Before the check, the function
// "finish" may change the store.
func (c backupCommands) restore(ctx context.Context, p *backup.Place, m *backup.Manifest, dir string, finish func() error) error {
	if err := c.watch(p, func() error { return p.Restore(ctx, m, dir, finish) }); err != nil {
		return err
	}
	problems, said := 0, map[string]bool{}
	err := local.CheckFolder(ctx, dir, 0, func(p local.Problem) {
		if !p.Harmless {
			problems++
		}
		if text := fmt.Sprintf("varve: %s: %v", p.File, p.Err); !said[text] { // a damaged file may have many problems
			said[text] = true
			fmt.Fprintln(c.err, text)
		}
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("the backup was made of a damaged store (%s): varve verify --data %s lists the damage, and varve repair --data %s saves the rest; varve backup list shows which backups are undamaged", count(problems, "problem"), dir, dir)
	}
	fmt.Fprintf(c.out, "Restored backup %s into %s: %s in %s. Start it with varve serve --data %s.\n", m.Name(), dir, bytesText(m.Size()), count(len(m.Files), "file"), dir)
	return nil
}

// readTime parses the time of a flag, or a date, which means the beginning of that day.
func readTime(flag, text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := timefmt.ParseTime(form, text, time.UTC); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usageError{fmt.Errorf("%s: %q is not a time: write RFC 3339 as in 2027-04-20T14:00:00Z, or a date", flag, text)}
}
