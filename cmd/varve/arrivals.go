package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// followWait is how long one request of --follow waits for changes.
const followWait = 30 * time.Second

type arrivalCommands struct{ queryCommands }

func (a arrivalCommands) arrivals() *cobra.Command {
	var q client.ChangesQuery
	var follow bool
	cmd := &cobra.Command{
		Use: "arrivals STREAM [DEVICE]", Short: "Print the readings that arrived since a time or a cursor",
		Long: "Print each reading that arrived since a time or a cursor, once. The readings may have any event time.\n" +
			"The output is divided into ranges of arrival, each ordered by device and event time.\n" +
			"At the end, the cursor for the next call is printed. With -o arrow, one call prints at most 100,000 readings,\n" +
			"because the schema of an Arrow stream has the fields of all its readings.",
		Example: "  varve arrivals weather --since -1h\n" +
			"  varve arrivals weather sensor_01 --since -1h --follow\n" +
			"  varve arrivals weather --since AQx… -o ndjson\n" +
			"  varve arrivals weather --since AQx… -o arrow > changes.arrow",
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Stream = args[0]; len(args) > 1 {
				q.Device = args[1]
			}
			if q.Limit < 0 {
				return errNegativeLimit(q.Limit)
			}
			if follow && q.Limit > 0 {
				return usageError{errors.New("--follow prints all readings: omit --limit")}
			}
			if err := a.limitArrow(&q, follow); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.printChanges(cmd.Context(), c, q, follow)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Since, "since", "", "a `time` as in -1h, or a cursor (default: the time since which changes are complete)")
	f.IntVar(&q.Limit, "limit", 0, "limit of readings; 0 means all")
	f.BoolVarP(&follow, "follow", "f", false, "continue with the readings that arrive, until Ctrl-C")
	return a.remote(cmd, "table", "ndjson", "csv", "arrow")
}

// maxChanges is the server's limit of a page, and so the maximum number of readings of an Arrow stream.
const maxChanges = 100_000

// limitArrow limits Arrow output to one page, because each page is a stream with a schema of its own.
func (a arrivalCommands) limitArrow(q *client.ChangesQuery, follow bool) error {
	if a.output != "arrow" {
		return nil
	}
	if follow {
		return usageError{errors.New("--follow has no output arrow: use table, ndjson or csv")}
	}
	if q.Limit > maxChanges {
		return usageError{fmt.Errorf("--limit %d: too large for --output arrow: use at most %d, and --since for more", q.Limit, maxChanges)}
	}
	if q.Limit == 0 {
		q.Limit = maxChanges
	}
	return a.checkArrow()
}

// checkArrow fails if binary output would go to a terminal.
func (a queryCommands) checkArrow() error {
	if a.output == "arrow" && a.shown {
		return usageError{errors.New("--output arrow is binary: redirect it to a file, as in > readings.arrow")}
	}
	return nil
}

// printChanges prints changes page by page. CSV has a header per page, because later pages may have
// further fields.
//
// A page is printed once it is complete. So the printed cursor continues after the printed readings,
// whatever ends the command.
func (a arrivalCommands) printChanges(ctx context.Context, c *client.Client, q client.ChangesQuery, follow bool) error {
	pages := changePages{client: c, format: wire.NDJSON, log: a.err}
	if a.output != "table" {
		pages.format, _ = wire.ParseFormat(a.output)
	}
	printed, err := a.printPages(ctx, &pages, q, follow)
	if pages.cursor == "" {
		return err
	}
	if err == nil && printed == 0 {
		fmt.Fprintln(a.err, "No reading has arrived since then.")
	}
	fmt.Fprintf(a.err, "Continue with --since %s\n", pages.cursor)
	return err
}

// printPages prints pages until the last one, a limit, an error or the end of ctx. With --follow, it waits
// for further pages. It returns the number of readings.
func (a arrivalCommands) printPages(ctx context.Context, pages *changePages, q client.ChangesQuery, follow bool) (printed int, err error) {
	most := q.Limit
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for {
		if most > 0 {
			q.Limit = min(most-printed, maxChanges)
		}
		p, text, err := pages.read(ctx, q, follow)
		if follow && ctx.Err() != nil && err != nil {
			return printed, nil //nolint:nilerr // Ctrl-C ends --follow without an error
		}
		if err != nil {
			return printed, err
		}
		n, err := a.printPage(text, q, table, printed == 0)
		if err != nil {
			return printed, err
		}
		printed += n
		pages.cursor, q.Since = p.Next, p.Next
		if most > 0 && printed >= most || !p.More && !follow {
			return printed, nil
		}
		if a.output == "arrow" {
			fmt.Fprintln(a.err, "More readings have arrived.")
			return printed, nil
		}
		if follow && !p.More {
			q.Wait = followWait
		}
	}
}

// printPage prints a complete page and returns the number of its readings.
func (a arrivalCommands) printPage(text []byte, q client.ChangesQuery, table *tabwriter.Writer, first bool) (n int, err error) {
	if a.output == "table" {
		return a.printTable(text, q, table, first)
	}
	seen := beginning{isCSV: a.output == "csv"}
	_, _ = seen.Write(text) // it never fails
	switch n = seen.rows; {
	case a.output == "csv":
		n--
	case a.output == "arrow" && seen.empty():
		n = 0
	case a.output == "arrow":
		n = 1 // any number above 0, because the readings of an Arrow stream are not counted
	}
	if n == 0 && q.Wait > 0 {
		return 0, nil // with --follow, a header for each wait without readings would be useless
	}
	_, err = a.out.Write(text)
	return n, err
}

func (a arrivalCommands) printTable(text []byte, q client.ChangesQuery, table *tabwriter.Writer, first bool) (n int, err error) {
	in := wire.NewAnswerReader(bytes.NewReader(text), varve.Series{Tenant: varve.DefaultTenant, Stream: q.Stream, Device: q.Device})
	var b wire.Batch
	for err == nil {
		b.Reset()
		if err = in.Read(&b); err != nil && !errors.Is(err, io.EOF) {
			return n, fmt.Errorf("read answer: %w", err)
		}
		for i := range b.Readings {
			if n == 0 && first {
				fmt.Fprintln(table, "ARRIVED\tDEVICE\tTIME\tFIELDS")
			}
			n++
			r := &b.Readings[i]
			at := string(wire.AppendTime(nil, r.Time))
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Arrived.Format(time.RFC3339), printable(r.Device), at, a.fittedFields(r.Fields, 80)[0])
		}
	}
	return n, table.Flush()
}
