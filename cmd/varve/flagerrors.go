package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/varvedb/varve"
)

// ofFlag converts an error about a property of a body to an error about the flag of that name, if the
// command has such a flag.
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
	e = withFlags(e)
	switch {
	case strings.TrimPrefix(e.Param, "query.") == "devices":
		return usageError{fmt.Errorf("DEVICE: %s%s", e.Message, hint)}
	case !ok:
		name = place // package client has removed the prefix "query." of the parameter
	case place == "path" || place == "body":
		return usageError{fmt.Errorf("%s%s", e.Message, hint)} // the parameter is an argument, and the message names it
	case place == "header":
		return err
	}
	return usageError{fmt.Errorf("--%s: %s%s", flagOf(name), e.Message, hint)}
}

// flagTerms replaces parameters in messages of the server with flags.
var flagTerms = strings.NewReplacer(
	"the values of name_column", "the values of --name-column",
	"excludes name_column", "excludes --name-column",
	"excludes device_column", "excludes --device-column",
	"set delimiter as well, as in delimiter=%3B, a semicolon", "set --delimiter as well, as in --delimiter ';'",
	"excludes status, device_type and attribute: omit them, or devices", "excludes --status, --device-type and --attribute: omit them, or the devices",
	"requires timezone: name", "requires --timezone: name",
	"requires top: add top=10", "requires --top: add --top 10")

// withFlags returns an error of the server that names flags and arguments in place of parameters.
func withFlags(e *varve.Error) *varve.Error {
	own := *e
	own.Message = flagTerms.Replace(e.Message)
	return &own
}

// commandRemedies replaces the calls in remedies of the server with commands.
var commandRemedies = strings.NewReplacer(
	"GET /v1/streams lists all streams", "varve streams lists all streams",
	"GET /v1/devices lists all devices", "varve devices list lists all devices",
	"GET /v1/alerts lists all alerts", "varve alerts list lists all alerts",
	"GET /v1/alert-rules lists all rules", "varve rules list lists all rules",
	"GET /v1/rejects lists all rejects", "varve rejects list lists all rejects",
	"GET /v1/erasures lists all erasures", "varve erasures list lists all erasures",
	"GET /v1/keys lists all keys", "varve keys list lists all keys",
	"GET /v1/tables lists all tables", "varve tables list lists all tables")

// withCommand replaces the remedy in an error about a missing object with a command. It returns other
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
	noInteger  = regexp.MustCompile(`strconv\.(ParseInt|ParseUint|Atoi): parsing "[^"]*": (invalid syntax|value out of range)`)
	noNumber   = regexp.MustCompile(`strconv\.Parse\w+: parsing "[^"]*": (invalid syntax|value out of range)`)
	noDuration = regexp.MustCompile(`time: (invalid duration|unknown unit|missing unit)[^(]*`)
	minusDigit = regexp.MustCompile(`unknown shorthand flag: '[\d.]'`)
)

// flagError replaces the messages of the flag parser with plain ones.
func flagError(cmd *cobra.Command, err error) error {
	text := noInteger.ReplaceAllString(err.Error(), "use a whole number")
	text = noNumber.ReplaceAllString(text, "use a number")
	text = noDuration.ReplaceAllString(text, "write it as in 90s, 5m or 2h")
	if minusDigit.MatchString(text) {
		text += ": put -- before arguments that begin with a minus"
	}
	return fmt.Errorf("%s (see %s --help)", text, cmd.CommandPath())
}

// exclusive matches cobra's error about two flags that exclude each other.
var exclusive = regexp.MustCompile(`^if any flags in the group .* none of the others can be; \[(\S+) (\S+).*\] were all set`)

// unknownCommand returns the name in cobra's error about an unknown command.
func unknownCommand(said string) string {
	_, rest, _ := strings.Cut(said, `unknown command "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// similarNames returns the suggestions that begin with the same letter as a name. Cobra also
// suggests short commands that share only few letters with the name.
func similarNames(name string, suggestions []string) []string {
	return slices.DeleteFunc(suggestions, func(s string) bool { return name == "" || s[0] != name[0] })
}

// didYouMean replaces cobra's errors about an unknown command, or about flags that exclude each other,
// with one line that has a remedy. It returns other errors unchanged.
func didYouMean(err error) error {
	if names := exclusive.FindStringSubmatch(err.Error()); names != nil {
		return fmt.Errorf("--%s and --%s exclude each other: omit one of them", names[1], names[2])
	}
	said, suggested, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	similar := similarNames(unknownCommand(said), strings.Fields(suggested))
	switch {
	case ok && len(similar) > 0:
		return fmt.Errorf("%s: did you mean %s?", said, strings.Join(similar, " or "))
	case strings.HasPrefix(said, "unknown command") && !strings.Contains(said, "--help") && !strings.Contains(said, "did you mean"):
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
const timeHint = "write RFC 3339 as in 2026-04-20T14:00:00Z, a date, a month, now, today, yesterday, or relative to now as in -24h or -1mo; numbers are milliseconds"

// queryError returns the usage error for an error about a query. The server's hints concern
// times in readings, so timeHint replaces them.
func queryError(cmd *cobra.Command, err error) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid {
		return err
	}
	switch name := strings.TrimPrefix(e.Param, "query."); {
	case name == "device" && cmd.Flags().Lookup(name) == nil: // the devices of the command are arguments
		return usageError{fmt.Errorf("DEVICE: %s", strings.TrimPrefix(withFlags(e).Message, "path.device: "))}
	case name != "from" && name != "to" && name != "at" && name != "path.time":
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
