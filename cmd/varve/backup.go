package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/internal/fileerr"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/timefmt"
)

// backupCommands make, list, verify and prune backups of an embedded store.
type backupCommands struct{ *app }

const placeHelp = "PLACE is a folder, or s3://BUCKET/PREFIX, with the credentials and the region of the AWS tools.\n"

func backupCommand(a *app) *cobra.Command {
	c := backupCommands{a}
	var data string
	cmd := &cobra.Command{
		Use: "backup PLACE", Short: "Back up an embedded store", Args: takes(1, 1),
		Long: "Back up an embedded store while its server runs, or with --data while no server runs.\n" + placeHelp +
			"The command copies the files that changed since the last backup in PLACE, and reads them back.\n" +
			"Run it on the machine of the server: the server makes a snapshot, and the command copies its files.",
		Example: "  varve backup /mnt/backups\n  varve backup s3://acme-backups/varve\n  varve backup /mnt/backups --data data\n  varve backup list /mnt/backups\n  varve restore /mnt/backups --data restored",
		RunE: func(cmd *cobra.Command, args []string) error {
			if data != "" {
				return c.backupFolder(cmd.Context(), args[0], data)
			}
			return c.backupServer(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "the data `folder` of a store that no server has open")
	cmd.AddCommand(c.list(), c.verify(), c.prune())
	return a.remote(cmd, "table", "json")
}

// openPlace opens the place of backups that an argument names. If the parameter "reads" is true, the
// caller only reads the place. Then a folder must exist already.
func openPlace(ctx context.Context, name string, reads bool) (*backup.Place, error) {
	rest, isBucket := strings.CutPrefix(name, "s3://")
	if !isBucket {
		if strings.Contains(name, "://") {
			return nil, usageError{fmt.Errorf("PLACE: %q is neither a folder nor s3://BUCKET/PREFIX", name)}
		}
		if _, err := os.Stat(name); reads && err != nil {
			return nil, usageError{fmt.Errorf("PLACE: %w: name the folder of a varve backup", fileerr.Short(err))}
		}
		objects, err := folder.Open(name, folder.Private)
		if err != nil {
			return nil, err
		}
		return backup.NewPlace(objects, "", now), nil
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return nil, usageError{errors.New("PLACE: the name of the bucket is missing: write s3://BUCKET/PREFIX")}
	}
	prefix = strings.Trim(prefix, "/")
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	objects, err := s3.Open(ctx, s3.Options{Bucket: bucket, Prefix: prefix, Endpoint: endpoint, ReadOnly: reads})
	if err != nil {
		return nil, err
	}
	return backup.NewPlace(objects, prefix, now), nil
}

// backupServer backs up the store of a running server.
func (c backupCommands) backupServer(ctx context.Context, name string) error {
	p, err := openPlace(ctx, name, false)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	return server.Snapshot(ctx, func(ctx context.Context, s wire.Snapshot) error {
		if _, err := os.Stat(s.Dir); err != nil {
			return fmt.Errorf("the snapshot of the server is not readable here (%w): run varve backup on the server's machine, as its user", fileerr.Short(err))
		}
		return c.make(ctx, p, backup.Snapshot{Dir: s.Dir, Store: s.Store, Created: s.Created, Version: s.Version})
	})
}

// backupFolder backs up a store that no server has open.
func (c backupCommands) backupFolder(ctx context.Context, name, dir string) (err error) {
	p, err := openPlace(ctx, name, false)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return usageError{fmt.Errorf("--data: %w", fileerr.Short(err))}
	}
	st, err := local.Open(local.Options{Dir: dir, Now: now, MinFree: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	return c.make(ctx, p, backup.Snapshot{Dir: s.Dir, Store: s.Store, Created: s.Created, Version: versionText()})
}

// make copies a snapshot to a place as a backup, with a progress bar.
func (c backupCommands) make(ctx context.Context, p *backup.Place, s backup.Snapshot) error {
	begin := time.Now()
	recorded, err := local.ReadRecorded(s.Dir)
	if n := len(recorded.Losses); n > 0 {
		s.Damage = "the store has recorded damage: " + count(n, "range")
	}
	if err != nil { // back up the readable rest of a damaged store, too
		s.Damage = fmt.Sprintf("the recorded damage cannot be read: %v", err)
	}
	s.Check = func(path string) (damage, err error) { return local.CheckFile(s.Dir, path) }
	var report *backup.Report
	err = c.watch(p, func() (err error) {
		report, err = p.Make(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	m := report.Manifest
	if c.output == "json" {
		err := writeJSON(c.out, map[string]any{"name": m.Name(), "bytes": m.Size(), "files": len(m.Files), "written_bytes": report.WrittenBytes, "written_files": report.Written, "damage": append([]string{}, m.Damages()...)})
		return errors.Join(err, c.sayDamage(m))
	}
	fmt.Fprintf(c.out, "Backup %s: %s in %s, %s of it new, in %s.\n", m.Name(), bytesText(m.Size()), count(len(m.Files), "file"), bytesText(report.WrittenBytes), timefmt.FormatDuration(time.Since(begin).Round(100*time.Millisecond)))
	return c.sayDamage(m)
}

// sayDamage prints the damage in a backup. It fails if the backup has damage, so that scripts notice.
func (c backupCommands) sayDamage(m *backup.Manifest) error {
	list := m.Damages()
	if len(list) == 0 {
		return nil
	}
	for _, text := range list {
		fmt.Fprintf(c.err, "varve: %s\n", text)
	}
	fmt.Fprintln(c.err, "varve: the backup is made of a damaged store: run varve verify and then varve repair with the configuration of the store. varve backup prune does not count this backup")
	return exitError(exitFailure)
}

// watch calls the function "do", and shows the progress of the place meanwhile.
func (c backupCommands) watch(p *backup.Place, do func() error) error {
	var bar *progress
	shown := int64(0)
	p.Progress = func(done, total int64) {
		if bar == nil {
			bar = newProgress(c.app, total, c.terminal)
		}
		bar.add(done - shown)
		shown = done
	}
	err := do()
	if bar != nil {
		bar.end(err == nil)
	}
	return err
}

func (c backupCommands) list() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list PLACE", Short: "List the backups of a place", Args: takes(1, 1), Long: "List the backups of a place, the oldest first.\n" + placeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return errNegativeLimit(limit)
			}
			p, err := openPlace(cmd.Context(), args[0], true)
			if err != nil {
				return err
			}
			list, damaged := p.Manifests(cmd.Context())
			list, more := limited(list, limit)
			g := listing{header: []string{"name", "store", "files", "bytes", "damage", "version"}, optional: []string{"store"}, empty: "No backups."}
			shown := []map[string]any{}
			for _, m := range list {
				g.add(m.Name(), m.Store, c.number(int64(len(m.Files))), c.bytes(m.Size()), backupDamage(m), m.Version)
				shown = append(shown, map[string]any{"name": m.Name(), "created": m.Created, "store": m.Store, "files": len(m.Files), "bytes": m.Size(), "damage": append([]string{}, m.Damages()...), "version": m.Version})
			}
			if err := c.show(&g, map[string]any{"backups": shown}); err != nil {
				return errors.Join(err, damaged)
			}
			return errors.Join(c.sayCut(more), damaged)
		},
	}
	limitFlag(cmd, &limit, "backups")
	c.outputFlag(cmd, "table", "json", "csv")
	return cmd
}

// backupDamage returns a short text about the damage of a backup, for lists.
func backupDamage(m *backup.Manifest) string {
	if n := len(m.Damages()); n > 0 {
		return count(n, "problem")
	}
	return "none"
}

func (c backupCommands) verify() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "verify PLACE", Short: "Read all files of backups, and check them", Args: takes(1, 1),
		Long: "Read all files of all backups of a place, or of one, and compare their SHA-256. The exit code is 1 if a file is damaged or missing.\n" + placeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := openPlace(cmd.Context(), args[0], true)
			if err != nil {
				return err
			}
			list, damaged := p.Manifests(cmd.Context())
			if name != "" {
				m, err := p.Select(cmd.Context(), name, time.Time{})
				if err != nil {
					return err
				}
				list, damaged = []*backup.Manifest{m}, nil
			}
			var problems []backup.Problem
			if err := c.watch(p, func() (err error) { problems, err = p.Verify(cmd.Context(), list); return err }); err != nil {
				return err
			}
			return errors.Join(c.showProblems(list, problems), damaged)
		},
	}
	cmd.Flags().StringVar(&name, "backup", "", "the `name` of one backup")
	c.outputFlag(cmd, "table", "json")
	return cmd
}

// showProblems prints the problems of backups. It fails if any exist.
func (c backupCommands) showProblems(list []*backup.Manifest, problems []backup.Problem) error {
	g := listing{header: []string{"file", "sum", "problem", "backups"}, empty: fmt.Sprintf("%s, no problems.", count(len(list), "backup"))}
	shown := []map[string]any{}
	for _, p := range problems {
		g.add(p.File.Path, p.File.SHA256, p.Err.Error(), strings.Join(p.Backups, " "))
		shown = append(shown, map[string]any{"file": p.File.Path, "sha256": p.File.SHA256, "problem": p.Err.Error(), "backups": p.Backups})
	}
	if err := c.show(&g, map[string]any{"backups": len(list), "problems": shown}); err != nil || len(problems) == 0 {
		return err
	}
	fmt.Fprintln(c.err, "varve: these backups cannot be restored as a whole: delete the damaged files in files/ of the place, and make a new backup, which writes them again if the store still has them")
	return exitError(exitFailure)
}

func (c backupCommands) prune() *cobra.Command {
	var keep int
	var dryRun bool
	cmd := &cobra.Command{
		Use: "prune PLACE --keep N", Short: "Delete all backups except the last ones", Args: takes(1, 1),
		Long: "Delete all backups of a place except the last N, and the files that no backup needs any more.\nBackups of a damaged store do not count: the last N undamaged backups are kept, and all later ones.\n" + placeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("keep") {
				return usageError{errors.New("--keep: required: name the number of backups to keep")}
			}
			if keep < 1 {
				return usageError{fmt.Errorf("--keep: %d is not at least 1", keep)}
			}
			p, err := openPlace(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			done, err := p.Prune(cmd.Context(), keep, dryRun)
			if err != nil {
				return err
			}
			if c.output == "json" {
				return writeJSON(c.out, map[string]any{"backups": append([]string{}, done.Backups...), "files": done.Files, "bytes": done.Bytes, "dry_run": dryRun})
			}
			verb := "Deleted"
			if dryRun {
				verb = "Would delete"
			}
			fmt.Fprintf(c.out, "%s %s and %s, %s.\n", verb, count(len(done.Backups), "backup"), count(done.Files, "file"), bytesText(done.Bytes))
			return nil
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "the `number` of backups to keep")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "delete nothing, and print what would be deleted")
	c.outputFlag(cmd, "table", "json")
	return cmd
}

// snapshotterOf returns a function that makes snapshots of a server's store, or nil if the store
// has no snapshots.
func snapshotterOf(e *engine.Engine) api.Snapshotter {
	st, ok := e.Store.(*local.Store)
	if !ok {
		return nil
	}
	return func(ctx context.Context) (wire.Snapshot, func() error, error) {
		s, err := st.Snapshot(ctx)
		if err != nil {
			return wire.Snapshot{}, nil, err
		}
		return wire.Snapshot{Dir: absolute(s.Dir), Store: s.Store, Created: s.Created, Version: versionText()}, s.Remove, nil
	}
}
