package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/varvedb/varve"
)

// paramError words what the server says of a parameter as a mistake in the flag
// that it came from, and adds a hint. Other errors it returns as they are.
func paramError(err error, hint string) error {
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param == "" {
		return err
	}
	place, name, ok := strings.Cut(e.Param, ".")
	switch {
	case !ok:
		name = place // the client has taken query. off
	case place == "path" || place == "body":
		return usageError{fmt.Errorf("%s%s", e.Message, hint)} // an argument, which the message names
	case place == "header":
		return err
	}
	return usageError{fmt.Errorf("--%s: %s%s", strings.ReplaceAll(name, "_", "-"), e.Message, hint)}
}

var precisionHint = regexp.MustCompile(`(milliseconds or )?precision=(s|ms|us|ns)\b`)

// flagHints words the hints of a rejection for the command line.
func flagHints(message string) string {
	return precisionHint.ReplaceAllString(message, "$1--precision $2")
}

// howTimes is how times are written on the command line.
const howTimes = "write RFC 3339 as in 2026-04-20T14:00:00Z, a date, or relative to now as in -24h; numbers are milliseconds"

// queryError words why the server took no query. What it says of times is about
// those of readings.
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
	return paramError(&plain, ": "+howTimes)
}
