package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/mcp"
)

func mcpCommand(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let language models read a server's data, by MCP", Args: takes(0, 0),
		Long: "Serve a server's data to language models, by the Model Context Protocol on standard input and output.\n" +
			"A host such as an editor or a chat program starts this command. Its tools only read: streams, devices,\n" +
			"query, latest, aggregate, lateness, why, explain, alerts and plan.",
		Example: "  varve mcp --server http://127.0.0.1:8278\n" +
			"  VARVE_KEY_FILE=/etc/varve/reader.key varve mcp --server https://varve.example.com",
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := a.access.options()
			if err != nil {
				return err
			}
			// Retry only twice. The program that runs the language model waits for each answer, so it should
			// soon get an error from a server that does not answer.
			c, err := client.New(a.server, append(options, client.ReadOnly(), client.WithRetries(2))...)
			if err != nil {
				return usageError{err}
			}
			s, err := mcp.New(mcp.Options{Client: c, Version: versionText(), Timeout: timeout})
			if err != nil {
				return err
			}
			out := a.out
			if a.screen != nil {
				out = a.screen
				fmt.Fprintln(a.err, "varve mcp waits for messages of a host on standard input: see docs/mcp.md. Ctrl-C ends it.")
			}
			return s.Serve(cmd.Context(), a.in, out)
		},
	}
	a.serverFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "fail a call of a tool after this time; 0 means never")
	return cmd
}
