package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve/agent/command"
)

// agentCommand returns the command of the agent. The program varve-agent has the same command.
func agentCommand() *cobra.Command {
	cmd := command.New(command.Options{Use: "agent", Version: versionText(), Now: now})
	cmd.Example = "  varve " + strings.TrimSpace(cmd.Example)
	mistakesAsUsage(cmd)
	return cmd
}

// mistakesAsUsage reports mistakes in the configuration as usage errors, for a command and its
// subcommands.
func mistakesAsUsage(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if errors.Is(err, command.ErrMistakes) {
				return usageError{err}
			}
			return err
		}
	}
	for _, below := range cmd.Commands() {
		mistakesAsUsage(below)
	}
}
