package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/rollup"
)

func (a queryCommands) digests() *cobra.Command {
	var q client.DigestQuery
	cmd := &cobra.Command{
		Use: "digests STREAM DEVICE", Short: "Print digests of a device's readings, by hour or day",
		Long: "Print the number and the digest of a device's distinct readings, by hour or day, in UTC.\n" +
			"A sender that computes the same digests finds the readings that are missing.",
		Example: "  varve digests weather sensor_01 --period daily --during 2026-04",
		Args:    takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Stream, q.Device = args[0], args[1]
			if _, err := rollup.ParsePeriod(q.Period); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			d, err := c.Digests(cmd.Context(), q)
			if err != nil {
				return err
			}
			g := listing{header: []string{"start", "readings", "digest"}, empty: "No live readings in this window.", explain: true}
			for _, p := range d.Periods {
				g.add(p.Start, strconv.FormatInt(p.Readings, 10), p.Digest)
			}
			return a.show(&g, d)
		},
	}
	cmd.Flags().StringVar(&q.Period, "period", "hourly", "hourly or daily")
	windowFlags(cmd, &q.From, &q.To, &q.During)
	a.words(cmd, "period", "hourly", "daily")
	return a.remote(cmd, "table", "json", "csv")
}

func receiptsCommand(a *app) *cobra.Command {
	return group("receipts", "Print and verify signed statements about stored readings", a.receiptsCreate(), a.receiptsKey(), a.receiptsVerify())
}

func (a *app) receiptsCreate() *cobra.Command {
	q := client.DigestQuery{Period: "daily", Receipt: true}
	cmd := &cobra.Command{
		Use: "create STREAM DEVICE", Short: "Print a receipt of a device's stored readings",
		Example: "  varve receipts create weather sensor_01 --during 2026-04 > april.receipt",
		Args:    takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Stream, q.Device = args[0], args[1]
			c, err := a.client()
			if err != nil {
				return err
			}
			d, err := c.Digests(cmd.Context(), q)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, d.Receipt)
			return err
		},
	}
	windowFlags(cmd, &q.From, &q.To, &q.During)
	return a.remote(cmd)
}

func (a *app) receiptsKey() *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", Short: "Print the public key of the server's receipts, as a JSON Web Key", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			k, err := c.ReceiptsKey(cmd.Context())
			if err != nil {
				return err
			}
			return writeJSON(a.out, k)
		},
	}
	return a.remote(cmd)
}

func (a *app) receiptsVerify() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Verify a receipt and print its content",
		Long: "Verify a receipt, in a file or - for standard input, and print its content as JSON.\n" +
			"Without --public-key, the key is requested from the server.",
		Example: "  varve receipts verify april.receipt --public-key varve.jwk",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.readText(args[0])
			if err != nil {
				return err
			}
			k, err := a.publicKey(cmd, keyFile)
			if err != nil {
				return err
			}
			r, err := receipts.Verify(string(text), k)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return writeJSON(a.out, r)
		},
	}
	cmd.Flags().StringVar(&keyFile, "public-key", "", "`file` with the output of varve receipts key (default: the server's key)")
	return a.remote(cmd)
}

// readText reads a file, or standard input if its name is -.
func (a *app) readText(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.in)
	}
	return os.ReadFile(name)
}

// publicKey returns the key in a file, or the server's key if no file is named.
func (a *app) publicKey(cmd *cobra.Command, file string) (k receipts.Key, err error) {
	if file == "" {
		c, err := a.client()
		if err != nil {
			return k, err
		}
		return c.ReceiptsKey(cmd.Context())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return k, err
	}
	if json.Unmarshal(text, &k) != nil {
		return k, errors.New("--public-key: not JSON: use the output of varve receipts key")
	}
	return k, nil
}
