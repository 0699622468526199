package store

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Enumerator lists the series of tables. No query needs it: it serves jobs on whole tables, such as
// the archive.
type Enumerator interface {
	// Series returns a page of the series that have readings in a table, in any order. It fails with
	// ErrNoTable if the table is missing.
	//
	// The token After is empty for the first page, and otherwise the Next of the previous page. A
	// token is valid only for its table. Over all pages, each series that had readings before the
	// first call occurs at least once. A series whose readings are deleted between the calls may be
	// missing or may occur. Where possible, the cost of a page does not depend on the size of the
	// readings.
	Series(ctx context.Context, q SeriesQuery) (SeriesPage, error)
}

// SeriesQuery selects a page of the series of a table.
type SeriesQuery struct {
	Table grid.Table
	After string // the Next of the previous page; empty for the first page
	// Damaged, if not nil, is called for damaged data that may hide a series. The page then has the other
	// series. If Damaged is nil, the page fails at the first damage. Calls may be concurrent.
	Damaged func(error)
}

// SeriesPage is a part of the series of a table.
type SeriesPage struct {
	Series []varve.Series
	Next   string // token of the next page; empty after the last one
	Cost   Cost
}
