package main

import (
	"strconv"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
)

// versionTitle is the header of the column of versions, which a query for all versions has.
const versionTitle = "VERSION"

func versionHeader(q *client.Query) string {
	if !q.Versions {
		return ""
	}
	return versionTitle + "\t"
}

// versionCell returns the cell of the version. The cell of an original reading is empty.
func versionCell(q *client.Query, r *varve.Reading) string {
	switch version := r.ID.Version(); {
	case !q.Versions:
		return ""
	case version == 0:
		return "\t"
	default:
		return strconv.FormatUint(uint64(version), 10) + "\t"
	}
}

// versionWidth returns the minimum width of the column, with the spaces after it.
func versionWidth(q *client.Query) int {
	if !q.Versions {
		return 0
	}
	return len(versionTitle) + columnGap
}
