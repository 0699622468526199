package api

import (
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/query"
)

const aboutArchiveParam = "true: also archived tables, and expired readings; only: only archived tables; false: neither; default: the setting streams.NAME.archive, else false. " +
	"The answer fails if an archive cannot be read. Coverage names the archived tables"

func archiveParam() []*huma.Param { return queryParams("archive", aboutArchiveParam) }

// archivesOf parses the parameter "archive". If it is missing, the setting streams.NAME.archive applies.
func (a *Archive) archivesOf(asked url.Values, stream string) (query.Archives, error) {
	if asked.Get("archive") == "" && a.Streams[stream] {
		return query.WithArchives, nil
	}
	v, err := query.ParseArchives(asked.Get("archive"))
	if err != nil {
		return v, inQuery(err)
	}
	return v, nil
}

// knownOf rejects unknown parameters, as writes.Known does. For the parameter "archive", the error
// names the routes that accept it.
func knownOf(asked url.Values, names ...string) error {
	if asked.Has("archive") {
		return varve.InvalidParam("query.archive", "only for readings and aggregates of readings: omit it")
	}
	return writes.Known(asked, names...)
}
