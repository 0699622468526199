package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/wire"
)

// accept returns the command that makes the record of a table describe its stored archive.
func (a archiveCommands) accept() *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use: "accept TABLE", Short: "Accept the stored archive of a table as its record", Args: takes(1, 1),
		Long: "Compare the stored archive of a table with its record, and print the difference. With --plan, make the stored archive the\n" +
			"record of the table. This is for a store that was restored from a backup, and for archives with damaged files: without it,\n" +
			"their verification always fails.\n\n" +
			"The command deletes nothing, and changes nothing in the table. If files are damaged, it copies the readable readings into\n" +
			"another archive. On hold, an archive that differs from its record is refused.",
		Example: "  varve archive accept varve_1772409600_1773014400_03_2026\n" +
			"  varve archive accept varve_1772409600_1773014400_03_2026 --plan DIGEST",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if digest == "" {
				p, err := c.PlanAcceptance(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.showAcceptPlan(&p)
			}
			r, err := c.AcceptArchive(cmd.Context(), args[0], digest)
			if err != nil {
				return err
			}
			if a.output != "table" {
				return a.showArchives(&wire.ArchiveList{Archives: []wire.ArchiveInfo{r}})
			}
			_, err = fmt.Fprintf(a.out, "%s: accepted: %s in %s, %s\n", r.Table, count(int(r.Readings), "reading"), count(int(r.Files), "file"), bytesText(r.Bytes))
			return err
		},
	}
	cmd.Flags().StringVar(&digest, "plan", "", "accept the archive if this is still the `digest` of the plan")
	return a.remote(cmd, "table", "json", "csv")
}

func (a archiveCommands) showAcceptPlan(p *wire.AcceptPlan) error {
	g := listing{header: []string{"missing", "tenant", "stream", "device", "day", "readings"}, empty: "No series and day is known to have missing readings."}
	if !mayLose(p) {
		g.empty = "No reading is known to be missing."
	}
	for _, d := range p.Missing.List {
		g.add("lost", d.Tenant, d.Stream, d.Device, d.Day, a.number(d.Readings))
	}
	for _, d := range p.Changed.List {
		g.add("changed", d.Tenant, d.Stream, d.Device, d.Day, a.number(d.Readings))
	}
	if p.InTable != nil {
		for _, d := range p.InTable.List {
			g.add("in the table", d.Tenant, d.Stream, d.Device, d.Day, a.number(d.Readings))
		}
	}
	if p.Whole && a.output == "table" {
		a.printText(fmt.Sprintf("The archive of %s equals its record: nothing to accept.", p.Table))
		return nil
	}
	if a.output == "csv" {
		g.addDigest(p)
	}
	if err := a.show(&g, p); err != nil || a.output != "table" {
		return err
	}
	fmt.Fprintln(a.out)
	a.printDifferences(p)
	if p.Rewrite {
		a.printText("The readable readings will be copied into another archive. The damaged files stay.")
	}
	if p.Hold != "" {
		a.printText("On hold: " + p.Hold + ". If the archive differs from its record, the archive is accepted only after the release.")
	}
	a.printText("Nothing was changed: varve archive accept " + p.Table + " --plan " + p.Digest + " carries this out, and refuses any other plan.")
	return nil
}

// mayLose reports whether readings are missing or may be missing.
func mayLose(p *wire.AcceptPlan) bool {
	for _, o := range p.Others {
		if o.Problem != "" {
			return true
		}
	}
	return p.Unexplained > 0 || p.Erased < 0 || p.Missing.Days > 0 || p.Changed.Days > 0 || p.DaysUnknown
}

// addDigest adds a column with the digest of a plan, and a row with the count of its readings.
func (g *listing) addDigest(p *wire.AcceptPlan) {
	g.add("plan", "", "", "", "", strconv.FormatInt(p.Accepted.Readings, 10))
	g.header = append(g.header, "digest")
	for i := range g.rows {
		g.rows[i] = append(g.rows[i], p.Digest)
	}
}

func (a archiveCommands) printDifferences(p *wire.AcceptPlan) {
	for _, f := range p.Damaged {
		a.printText(fmt.Sprintf("Damaged: %s: %s", f.Name, f.Problem))
	}
	for _, o := range p.Others {
		text := fmt.Sprintf("Other archive, not accepted: %s: %s of %d series", o.Manifest, numbered(o.Readings, "reading"), o.Series)
		if o.Problem != "" {
			text = fmt.Sprintf("Other archive, not comparable: %s: %s", o.Manifest, o.Problem)
		}
		a.printText(text)
	}
	if more := p.Missing.Days + p.Changed.Days - int64(len(p.Missing.List)+len(p.Changed.List)); more > 0 {
		a.printText(fmt.Sprintf("%d more days of series are lost or changed: they are not listed.", more))
	}
	record := "The table has no record of an archive."
	if p.Recorded.Manifest != "" {
		record = fmt.Sprintf("The record has %s of %d series.", numbered(p.Recorded.Readings, "reading"), p.Recorded.Series)
	}
	a.printText(fmt.Sprintf("%s The archive %s has %s of %d series.", record, p.Accepted.Manifest, numbered(p.Accepted.Readings, "reading"), p.Accepted.Series))
	if p.Merged != "" {
		a.printText("Merged archive: " + p.Merged + ".")
	}
	a.printText(fmt.Sprintf("Erasures have removed %s. %s of %d series lost. %d missing and %d added without a known reason.",
		numbered(p.Erased, "reading"), numbered(p.Missing.Readings, "reading"), p.Missing.Series, p.Unexplained, p.Added))
	if p.Changed.Days > 0 {
		a.printText(fmt.Sprintf("The readings of %d days of %d series differ.", p.Changed.Days, p.Changed.Series))
	}
	if p.DaysUnknown {
		a.printText("Readings may be missing, and their series and days are unknown, because the digests of the recorded archive are lost.")
	}
}

// showUnrecorded prints the files of an archive that no record names.
func (a archiveCommands) showUnrecorded(w io.Writer, files []wire.UnrecordedFile) {
	for _, f := range files {
		fmt.Fprintf(w, "  unrecorded: %s, %s\n", f.Key, bytesText(f.Bytes))
	}
}

// unrecordedOf returns the unrecorded files that a failed verification lists.
func unrecordedOf(err error) []wire.UnrecordedFile {
	if failed := (*wire.UnrecordedError)(nil); errors.As(err, &failed) {
		return failed.Files
	}
	return nil
}
