package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/export"
)

func exportCommand(a *app) *cobra.Command {
	o := export.Options{}
	var format string
	cmd := &cobra.Command{
		Use: "export STREAM FOLDER", Short: "Copy the readings of a stream to files",
		Long: "Copy the readings of a stream to files in a folder. varve ingest reads them.\n\n" +
			"With --since, the file records the progress. The first run copies all readings, and each later run copies the\n" +
			"readings that arrived since, to further files. All files together have each reading once. The next run continues\n" +
			"an interrupted one. If another Varve ingests the files, the time of the ingest is the arrival of the readings.",
		Example: "  varve export weather copy/\n" +
			"  varve export weather copy/ --since copy/weather.state\n" +
			"  varve export weather copy/ --format parquet --since copy/weather.state\n" +
			"  varve ingest --stream weather --server http://other:8278 copy/",
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Stream, o.Dir, o.Format = args[0], args[1], export.Format(format)
			if !slices.Contains(export.Formats(), format) {
				return usageError{fmt.Errorf("--format %s: unknown: use %s", format, strings.Join(export.Formats(), ", "))}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			o.Client = c
			return a.runExport(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", string(export.NDJSON), "ndjson, csv or parquet")
	f.BoolVar(&o.RegisteredOnly, "registered-only", false, "omit devices that are not registered from the first copy: cheaper on DynamoDB")
	f.StringVar(&o.State, "since", "", "continue from the progress in this `file`, and record it there")
	a.words(cmd, "format", export.Formats()...)
	return a.remote(cmd, "text", "json")
}

// exportProgressEvery is the shortest time between two updates of the line of progress.
const exportProgressEvery = 200 * time.Millisecond

func (a *app) runExport(ctx context.Context, o export.Options) error {
	begin, last := now(), time.Time{}
	if a.terminal && a.output != "json" {
		o.Progress = func(p export.Progress) {
			if now().Sub(last) < exportProgressEvery {
				return
			}
			last = now()
			share := ""
			if p.TotalDevices > 0 {
				share = fmt.Sprintf(", %s of %s", a.number(int64(p.Devices)), count(p.TotalDevices, "device"))
			}
			rate := float64(p.Readings) / max(now().Sub(begin).Seconds(), 0.001)
			fmt.Fprintf(a.console, "\r\x1b[K%s%s, %s/s", count(p.Readings, "reading"), share, a.number(int64(rate)))
		}
	}
	done, err := export.Run(ctx, o)
	if !last.IsZero() {
		fmt.Fprint(a.console, "\r\x1b[K")
	}
	a.sayMissingTables(done.Missing, done.MoreMissing)
	if err != nil {
		return err
	}
	if !done.SettledUntil.IsZero() {
		fmt.Fprintf(a.err, "Arrivals are settled until %s. The next run copies later readings, once each write before them has ended or its process is known to be gone.\n",
			done.SettledUntil.UTC().Format(time.RFC3339Nano))
	}
	if a.output == "json" {
		summary := map[string]any{"readings": done.Readings, "files": done.Files, "bytes": done.Bytes, "first": done.IsFirstCopy}
		if len(done.Missing) > 0 {
			summary["missing"] = done.Missing
		}
		if done.MoreMissing > 0 {
			summary["more_missing"] = done.MoreMissing
		}
		return writeJSON(a.out, summary)
	}
	kind := "changes"
	switch {
	case len(done.Missing) > 0 || done.MoreMissing > 0:
		kind = "the readings of the existing tables"
	case done.IsFirstCopy && o.RegisteredOnly:
		kind = "all readings of registered devices"
	case done.IsFirstCopy:
		kind = "all readings"
	}
	fmt.Fprintf(a.out, "Copied %s: %s in %s.\n", kind, count(done.Readings, "reading"), count(done.Files, "file"))
	return nil
}
