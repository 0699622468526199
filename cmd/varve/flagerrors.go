package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
)

// ofFlag converts an error about a field of a body to an error about the flag of that name, if
// the command has such a flag.
func ofFlag(cmd *cobra.Command, err error) error {
	var e *varve.Error
	if !errors.As(err, &e) {
		return err
	}
	name, ok := strings.CutPrefix(e.Param, "body.")
	if !ok || cmd.Flags().Lookup(flagOf(name)) == nil {
		return err
	}
	own := *e
	own.Param = name
	return &own
}

// paramError converts an error about a parameter to a usage error with a hint. The error names the
// parameter's flag, if any. Other errors, and errors about a header, are returned unchanged.
func paramError(err error, hint string) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param == "" {
		return err
	}
	place, name, ok := strings.Cut(e.Param, ".")
	switch {
	case !ok:
		name = place // the client has removed the prefix "query."
	case place == "path" || place == "body":
		return usageError{fmt.Errorf("%s%s", e.Message, hint)} // an argument, which the message names
	case place == "header":
		return err
	}
	return usageError{fmt.Errorf("--%s: %s%s", flagOf(name), e.Message, hint)}
}

// commandRemedies replaces the calls in remedies of the server by commands.
var commandRemedies = strings.NewReplacer(
	"GET /v1/streams lists all streams", "varve streams lists all streams",
	"GET /v1/devices lists all devices", "varve devices list lists all devices")

// withCommand replaces the remedy in an error about a missing object by a command. It returns other
// errors unchanged.
func withCommand(err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.NotFound {
		return err
	}
	own := *e
	own.Message = commandRemedies.Replace(e.Message)
	return &own
}

// flagOf returns the name of the flag for a parameter.
func flagOf(param string) string { return strings.ReplaceAll(param, "_", "-") }

var (
	noNumber   = regexp.MustCompile(`strconv\.Parse\w+: parsing "[^"]*": (invalid syntax|value out of range)`)
	noDuration = regexp.MustCompile(`time: (invalid duration|unknown unit|missing unit)[^(]*`)
	minusDigit = regexp.MustCompile(`unknown shorthand flag: '[\d.]'`)
)

// flagError replaces the messages of the flag parser with plain ones.
func flagError(cmd *cobra.Command, err error) error {
	text := noNumber.ReplaceAllString(err.Error(), "that is not such a number")
	text = noDuration.ReplaceAllString(text, "write it as in 90s, 5m or 2h")
	if minusDigit.MatchString(text) {
		text += ": put -- before arguments that begin with a minus"
	}
	return fmt.Errorf("%s (see %s --help)", text, cmd.CommandPath())
}

// didYouMean puts cobra's suggestions for an unknown command into one line.
func didYouMean(err error) error {
	said, suggested, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	switch {
	case ok:
		return fmt.Errorf("%s: did you mean %s?", said, strings.Join(strings.Fields(suggested), " or "))
	case strings.HasPrefix(said, "unknown command") && !strings.Contains(said, "--help"):
		return fmt.Errorf("%s (see varve --help)", said)
	}
	return err
}

var (
	precisionHint = regexp.MustCompile(`(milliseconds or )?precision=(s|ms|us|ns)\b`)
	otherHint     = regexp.MustCompile(`\b(dst|fields|null)=(\w+)\b`)
)

// flagHints replaces the parameters in the hints of a rejection with flags.
func flagHints(message string) string {
	return otherHint.ReplaceAllString(precisionHint.ReplaceAllString(message, "$1--precision $2"), "--$1 $2")
}

// timeHint states the formats of times on the command line.
const timeHint = "write RFC 3339 as in 2026-04-20T14:00:00Z, a date, or relative to now as in -24h; numbers are milliseconds"

// queryError returns the usage error for an error about a query. The server's hints concern
// times in readings, so timeHint replaces them.
func queryError(err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid {
		return err
	}
	if name := strings.TrimPrefix(e.Param, "query."); name != "from" && name != "to" && name != "at" {
		return paramError(err, "")
	}
	said, _, cut := strings.Cut(e.Message, ": send ")
	if !cut {
		return paramError(err, "")
	}
	plain := *e
	plain.Message = said
	return paramError(&plain, ": "+timeHint)
}
