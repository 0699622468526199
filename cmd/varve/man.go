package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the man pages of all commands, for packages.
func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the man pages of all commands into a folder", Args: takes(1, 1), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o750); err != nil {
				return err
			}
			at, err := pageTime()
			if err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "VARVE", Section: "1", Source: "varve " + versionText(), Manual: "Varve", Date: &at}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			_, err = fmt.Fprintf(a.err, "The man pages are in %s.\n", args[0])
			return err
		},
	}
}

// pageTime returns the date of the pages: SOURCE_DATE_EPOCH, so that builds are reproducible, or
// else the current time.
func pageTime() (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return now(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)}
	}
	return time.Unix(seconds, 0).UTC(), nil
}
