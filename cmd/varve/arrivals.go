package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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
			return a.printChanges(cmd, c, q, follow)
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
func (a arrivalCommands) printChanges(cmd *cobra.Command, c *client.Client, q client.ChangesQuery, follow bool) error {
	most := q.Limit
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	printed := 0
	for {
		if most > 0 {
			q.Limit = min(most-printed, maxChanges)
		}
		p, n, err := a.printPage(cmd, c, q, table, printed == 0)
		if follow && cmd.Context().Err() != nil {
			break // Ctrl-C ends --follow without an error
		}
		if err != nil {
			return err
		}
		printed += n
		q.Since = p.Next
		if most > 0 && printed >= most || !p.More && !follow {
			break
		}
		if a.output == "arrow" {
			fmt.Fprintln(a.err, "More readings have arrived.")
			break
		}
		if follow && !p.More {
			q.Wait = followWait
		}
	}
	if printed == 0 {
		fmt.Fprintln(a.err, "No reading has arrived since then.")
	}
	fmt.Fprintf(a.err, "Continue with --since %s\n", q.Since)
	return nil
}

// printPage prints one page and returns the number of its readings.
func (a arrivalCommands) printPage(cmd *cobra.Command, c *client.Client, q client.ChangesQuery, table *tabwriter.Writer, first bool) (p client.ChangesPage, n int, err error) {
	if a.output == "table" {
		p, err = c.ReadChanges(cmd.Context(), q, func(r *varve.Reading) error {
			if n == 0 && first {
				fmt.Fprintln(table, "ARRIVED\tDEVICE\tTIME\tFIELDS")
			}
			n++
			at := string(wire.AppendTime(nil, r.Time))
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Arrived.Format(time.RFC3339), printable(r.Device), at, a.fittedFields(r.Fields, 80)[0])
			return nil
		})
		return p, n, errors.Join(err, table.Flush())
	}
	form, _ := wire.ParseFormat(a.output)
	resp, err := c.RawChanges(cmd.Context(), q, form)
	if err != nil {
		return p, 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	return a.copyPage(resp)
}

func (a arrivalCommands) copyPage(resp *http.Response) (p client.ChangesPage, n int, err error) {
	seen := beginning{isCSV: a.output == "csv"}
	if _, err := io.Copy(io.MultiWriter(a.out, &seen), resp.Body); err != nil {
		return p, 0, fmt.Errorf("the answer is incomplete: %w", err)
	}
	switch n = seen.rows; {
	case a.output == "csv":
		n--
	case a.output == "arrow" && seen.empty():
		n = 0
	case a.output == "arrow":
		n = 1 // any number above 0, because the readings of an Arrow stream are not counted
	}
	p, err = client.PageOf(resp)
	return p, n, err
}
