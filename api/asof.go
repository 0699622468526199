package api

import (
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/query"
)

const aboutAsOf = "only readings that had arrived by this time: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; not in the future; default: all. " +
	"Readings that have expired since are not returned; coverage has the time from which the answer is complete"

func asOfParam() []*huma.Param { return queryParams("as_of", aboutAsOf) }

// asOfOf parses the parameter as_of. If it is missing, the time is zero.
func asOfOf(asked url.Values, now time.Time) (time.Time, error) {
	if asked.Get("as_of") == "" {
		return time.Time{}, nil
	}
	f, err := timeFormat(asked)
	if err != nil {
		return time.Time{}, err
	}
	at, err := moment(asked, "as_of", f, now, time.Time{})
	if err != nil {
		return time.Time{}, err
	}
	if err := query.CheckAsOf(at, now); err != nil {
		return time.Time{}, inQuery(err)
	}
	return at, nil
}

// arrivedBy returns the part of a message about missing readings that names the time asOf. If asOf
// is zero, it returns "".
func arrivedBy(asOf time.Time) string {
	if asOf.IsZero() {
		return ""
	}
	return " that had arrived by " + asOf.UTC().Format(time.RFC3339Nano)
}
